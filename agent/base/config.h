#ifndef AGENT_BASE_CONFIG_H
#define AGENT_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/addr.h"
#include "agent/base/doer.h"
#include "agent/base/err.h"
#include "agent/base/name.h"

/* The agent's own file: which zones, which credentials, which limits.
 * source: dnsfailover.conf(5) */

enum config_kind { CONFIG_STR, CONFIG_INT, CONFIG_BOOL };

/* One option of a provider type; the parser, the manual and `providers`
 * read the same table. A table ends with name NULL. An option NAME beside
 * which the table has NAME-file is a secret: only one of the two is taken, and
 * NAME only in a file that nobody else can read. Numbers are whole and not
 * negative. */
struct config_field {
    const char *name;
    enum config_kind kind;
    bool required;
    bool is_command;  /* a template: {zone} and {file} may stand in it */
    const char *dflt; /* NULL: none */
    const char *help; /* one line for the manual */
    const char *env;  /* environment variables that give it where the file
                         does not, the first that is set; separated by
                         blanks; NULL: none */
};

/* What a provider type takes. */
struct config_schema {
    const char *type;
    const struct config_field *fields;
};

struct config_option {
    const char *name, *value; /* booleans as "yes" or "no" */
    const char *env;          /* the variable that gave it; NULL: the file */
    int line;                 /* of the file; 0: not from there */
};

struct config_provider {
    const char *name; /* its title */
    const char *type;
    const struct config_option *options; /* as given, by the file or by the
                                            environment; no defaults */
    size_t noptions;
    int line;                /* 0: no section of a file, see config_load_for */
    const struct doer *doer; /* as the configuration's */
};

enum config_discover { DISCOVER_PROVIDER, DISCOVER_AXFR, DISCOVER_NAMES };

/* Where the sets of one view are kept: of what a spec's `view` names. */
struct config_view {
    const char *name;                       /* [A-Za-z0-9._:/-]{1,63} */
    const struct config_provider *provider; /* no other view's of the zone,
                                               nor the zone's own */
    const struct addr *servers; /* that show it to the agent, with port; none:
                                   the zone's, where the provider has a key */
    size_t nservers;
    int line;
};

struct config_zone {
    const char *name; /* canonical; "*" for every zone of the provider */
    const struct config_provider *provider;
    enum config_discover discover;
    const char *const *names; /* canonical owners */
    size_t nnames;
    const struct addr *servers; /* with port; none: the zone's NS set */
    size_t nservers;
    bool observe;
    bool create;
    bool cross_names;
    bool allow_active;
    const struct config_view *views; /* by name */
    size_t nviews;
    int line;
};

/* What a spec's check command:NAME runs. */
struct config_command {
    const char *name;         /* [A-Za-z_][A-Za-z0-9_-]{0,62} */
    const char *exec;         /* a template: {target} may stand in it */
    const char *const *zones; /* canonical; whose specs may name it */
    size_t nzones;
    int line;
};

struct config {
    const char *file;
    const struct doer *doer; /* who opens the files and runs the commands that
                                it names; NULL: this process */
    const char *state;       /* path of state.db */
    const char *user;        /* that `run` becomes; NULL: not given */
    const char *dc;          /* NULL: none */
    const struct addr *anchors; /* port 0: icmp */
    size_t nanchors;
    const struct cidr *allow_targets;
    size_t nallow_targets;
    const char *notify;  /* command line; NULL: none */
    int64_t max_targets; /* per spec */
    int64_t min_period_ms;
    const struct addr *resolvers; /* none: resolv.conf */
    size_t nresolvers;
    bool trust_ad;
    struct config_provider *providers;
    size_t nproviders;
    const struct config_zone *zones;
    size_t nzones;
    const struct config_command *commands;
    size_t ncommands;
    struct arena *arena; /* owns all of the above */
};

/* p keeps the zone, or one of its views. */
bool config_zone_uses(const struct config_zone *z,
                      const struct config_provider *p);

/* Reads file. schemas: the provider types, ends with type NULL.
 * out: *cfg, freed by config_free
 * returns 0, or -1 with e set: ERR_NOTFOUND (no such file), ERR_INPUT
 * ("FILE:LINE: what was found; what is accepted"), ERR_UNSUPPORTED (as
 * ERR_INPUT, but a later version takes it), ERR_AUTH (not readable, or holds
 * a secret and others can read it). With trust_ad and no resolvers the caller
 * must check that those of resolv.conf are on loopback. */
MUST_CHECK int config_load(const char *file,
                           const struct config_schema *schemas,
                           struct config **cfg, struct err *e);
/* The same from a file that is open: fd is read from where it stands, and
 * stays open. doer: goes into the configuration, which it must outlive */
MUST_CHECK int config_load_open(const char *file, int fd,
                                const struct doer *doer,
                                const struct config_schema *schemas,
                                struct config **cfg, struct err *e);
/* From now on doer opens the files and runs the commands that cfg names. */
void config_take_doer(struct config *cfg, const struct doer *doer);
/* Opens it, as config_load does. returns the descriptor, or -1 with e set */
MUST_CHECK int config_open(const char *file, struct err *e);
void config_free(struct config *cfg); /* wipes it; NULL is fine */

/* One zone at one provider, as the command line asks for it. */
struct config_request {
    const char *file;     /* whose sections hold as well; NULL: none */
    const char *provider; /* a section of file, or a type whose options come
                             from the environment; NULL: as file says */
    const char *zone;     /* or "*" */
    const char *servers;  /* as the zone's option, separated by commas; NULL:
                             not given */
    bool records; /* whoever asks says himself what is to stand there: it may
                     be created, and checked in every way; no specs are to be
                     found */
};
/* As config_load, with that zone alone: its section of file where there is
 * one, else one that takes what is not there from nobody: specs are found as
 * the zone's default says. A file needs no zone then.
 * returns 0, or -1 with e set as config_load; places that are not in the file
 * are "environment" and "command line" */
MUST_CHECK int config_load_for(const struct config_request *req,
                               const struct config_schema *schemas,
                               struct config **cfg, struct err *e);

/* The commands that zone's specs may name.
 * out: *names, *execs — n each, in arena a; returns n */
size_t config_commands_of(const struct config *cfg, const char *zone,
                          struct arena *a, const char *const **names,
                          const char *const **execs);

/* Puts "provider NAME (line N)" in front of e, or that it is the environment's:
 * for who reports why it could not be opened. returns -1 */
int config_provider_fail(const struct config_provider *p, struct err *e);
/* The option as it was given; NULL: it was not. */
const struct config_option *config_option_find(const struct config_provider *p,
                                               const char *name);
/* The option's value, its table default, or NULL. */
const char *config_option_get(const struct config_provider *p,
                              const struct config_field *fields,
                              const char *name);
/* The first variable of f.env that is set and not empty; its name as an index
 * into f.env, of *len bytes. returns its value, or NULL */
const char *config_env_get(const struct config_field *f, const char **name,
                           size_t *len);
/* A secret: the option NAME-file's content (first line; the file may be
 * readable by its group, not by others; a value without slash is a systemd
 * credential: $CREDENTIALS_DIRECTORY/VALUE), else option NAME, else what the
 * environment gives for NAME, by fields.
 * out: *secret — heap; the caller wipes and frees it by config_secret_free
 * returns 0, or -1 with e set (ERR_AUTH unreadable or readable by others,
 * ERR_NOTFOUND none given) */
MUST_CHECK int config_secret_get(const struct config_provider *p,
                                 const struct config_field *fields,
                                 const char *name, char **secret,
                                 struct err *e);
/* The whole content of the file that an option names, at most 4094 bytes; its
 * rules are those of NAME-file above.
 * out: *text — heap; the caller wipes and frees it by config_secret_free
 * returns 0, or -1 with e set (ERR_AUTH, ERR_NOTFOUND no credential) */
MUST_CHECK int config_secret_file_get(const struct config_provider *p,
                                      const char *option, char **text,
                                      struct err *e);
void config_secret_free(char *secret); /* NULL is fine */
/* A server may send back what it was sent: asterisks take the place of secret
 * in text, and of its first bytes (4 at least) where the text was cut in it:
 * before "…", a quote or the text's end. secret NULL: nothing is done. */
void config_secret_blank(char *text, const char *secret);
/* The content of the file that option NAME-file names: no secret.
 * max: bytes at most
 * out: *text — heap, NUL-terminated; NULL when the option is not given
 * returns 0, or -1 with e set (ERR_INPUT unreadable, or holds a NUL byte;
 * ERR_LIMIT larger) */
MUST_CHECK int config_file_get(const struct config_provider *p,
                               const char *option, size_t max, char **text,
                               struct err *e);
/* Where that file is: a value without slash is a systemd credential.
 * out: *path — heap
 * returns 0, or -1 with e set (ERR_NOTFOUND: no such option, no credentials) */
MUST_CHECK int config_file_path(const struct config_provider *p,
                                const char *option, char **path, struct err *e);

#endif
