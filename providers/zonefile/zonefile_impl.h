#ifndef PROVIDERS_ZONEFILE_ZONEFILE_IMPL_H
#define PROVIDERS_ZONEFILE_ZONEFILE_IMPL_H

#include "providers/provider.h"
#include "providers/zonefile/masterfile.h"
#include "providers/zonefile/zonefile_disk.h"
#include "providers/zonefile/zonefile_store.h"
#include "resolver/tsig.h"

/* What the zonefile*.c files share; nobody else includes it. */

struct zonefile {
    struct provider base; /* first */
    struct provider_env env;
    const struct zonefile_store *store;
    const struct doer *doer; /* NULL: this process */
    char *name;              /* its title in the configuration file */
    char *file;              /* template with {zone} */
    char *check, *reload;    /* command templates; NULL: none */
    char *include_dir;       /* NULL: the zone file's */
    int64_t timeout_ms, serial_timeout_ms;
    struct tsig_key *key; /* of the view that the file is; NULL: none */
    size_t running;       /* calls under way */
    provider_close_cb *close_cb;
    void *close_arg;
};

/* The zone file read and taken apart. */
struct zonefile_zone {
    char *path; /* as configured, {zone} put in */
    struct zonefile_copy copy;
    struct zonefile_includes includes;
    struct masterfile *m;
};
/* returns 0, or -1 with e set; fini after both */
MUST_CHECK int zonefile_zone_load(const struct zonefile *z, const char *zone,
                                  struct zonefile_zone *out, struct err *e);
void zonefile_zone_fini(struct zonefile_zone *f);

/* What stands before an error about a relative $INCLUDE (of a directory). */
#define ZONEFILE_RELATIVE                                                      \
    "relative to %s (where the server reads it from elsewhere, set "           \
    "include-dir)"

/* Where commands run and relative $INCLUDEs start. */
const char *zonefile_work_dir(const struct zonefile *z,
                              const struct zonefile_copy *c);
/* The words of a command template.
 * returns 0, or -1 with e set */
MUST_CHECK int zonefile_argv(const char *command, const char *zone,
                             const char *file, char ***argv, struct err *e);
/* The zone's file as configured, heap. */
char *zonefile_path(const struct zonefile *z, const char *zone);
/* zone without its final dot, heap; "." stays. */
char *zonefile_plain_zone(const char *zone);

/* Frees the instance, and nothing else. */
void zonefile_free(struct zonefile *z);
/* To be called first and last by each call that answers later. */
void zonefile_enter(struct zonefile *z);
void zonefile_leave(struct zonefile *z);

/* One rewrite of a zone file, the way to disk and back included. */
struct zonefile_rewritten {
    struct err err; /* ERR_NONE, or why the whole was given up; named */
    struct err why; /* the same without the zone */
    enum change_state state; /* DONE; FAILED: nothing is changed; UNKNOWN */
    bool changed;            /* the edit changed something */
    bool has_serial;
    uint32_t serial;
};
struct zonefile_rewrite {
    const char *zone; /* copied */
    /* The new text; called again when the file changed meanwhile. As
     * masterfile_edit. */
    int (*edit)(void *arg, const struct masterfile *m, uint32_t serial,
                struct buf *out, bool *changed, struct err *e);
    void (*done)(void *arg, const struct zonefile_rewritten *r); /* once */
    bool confirm; /* nothing to change: what the server does not serve yet is
                     reloaded and awaited all the same */
    void *arg;
};
void zonefile_rewrite(struct zonefile *z, const struct zonefile_rewrite *what);

void zonefile_write_spec(struct provider *p, const struct spec_write *spec,
                         provider_written_cb *cb, void *arg);
void zonefile_look(struct provider *p, const char *zone, provider_check_cb *cb,
                   void *arg);
void zonefile_apply(struct provider *p, const struct change_set *set,
                    provider_apply_cb *cb, void *arg);

#endif
