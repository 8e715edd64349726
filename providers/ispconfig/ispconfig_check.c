#include <stdlib.h>
#include <string.h>

#include "providers/ispconfig/ispconfig.h"
#include "providers/shared/findings.h"
#include "providers/shared/serial.h"

/* What doctor asks of a panel. Nothing is written: permissions are tried by
 * updates of record 0, see ispconfig_serial.c. */

static const enum rr_type kinds[] = {RR_A, RR_AAAA, RR_CNAME, RR_TXT};
#define NKINDS (sizeof kinds / sizeof kinds[0])

struct exam {
    struct ispconfig *p;
    struct arena *a;
    char name[NAME_SIZE]; /* of the zone; "" for the account */
    const struct isp_zone *zone;
    size_t kind; /* the next to be tried */
    struct findings found;
    provider_check_cb *cb;
    void *arg;
};

static void exam_end(struct exam *x)
{
    struct ispconfig *p = x->p;
    struct provider_checked r = findings_get(&x->found);

    x->cb(x->arg, &r);
    findings_fini(&x->found);
    arena_free(x->a);
    free(x);
    isp_end(p);
}

/* ---- the account --------------------------------------------------------- */

static void try_next(struct exam *x);

/* Which line of the section a refused call is about. */
static const char *option_of(const struct err *e)
{
    if (strstr(e->msg, "login_failed") != NULL)
        return "user";
    if (strstr(e->msg, "pin-sha256") != NULL)
        return "pin-sha256";
    return strstr(e->msg, "certificate") != NULL ? "ca-file" : "url";
}

static void on_tried(void *arg, const struct err *e)
{
    struct exam *x = arg;
    const char *method = isp_method(x->a, kinds[x->kind], "update");
    bool lacks = strstr(e->msg, "System > Remote Users") != NULL;

    if (e->code == ERR_NONE) {
        findings_add(&x->found, PROVIDER_OK, "user", NULL,
                     "the remote user has '%s'", isp_checkbox(method));
    } else if (lacks) {
        char *box = mem_printf("tick '%s' in the panel at System > Remote "
                               "Users",
                               strstr(e->msg, "dns_zone_") != NULL
                                   ? isp_checkbox("dns_zone_")
                                   : isp_checkbox(method));

        findings_add(&x->found, PROVIDER_ERROR, "user", box, "%s", e->msg);
        free(box);
    } else {
        findings_add(&x->found, PROVIDER_ERROR, option_of(e), NULL, "%s",
                     e->msg);
        exam_end(x); /* whatever comes next fails so, too */
        return;
    }
    x->kind++;
    try_next(x);
}

static void try_next(struct exam *x)
{
    enum rr_type types[2] = {0};

    if (x->kind == NKINDS) {
        exam_end(x);
        return;
    }
    types[0] = kinds[x->kind];
    isp_permissions(x->p, types, on_tried, x);
}

/* ---- one zone ------------------------------------------------------------ */

static void on_served(void *arg, const struct provider_serial *s)
{
    struct exam *x = arg;
    uint32_t own = x->zone->serial;

    if (!s->known)
        findings_add(&x->found, PROVIDER_WARNING, NULL,
                     "servers = {\"…\"} in the zone's section",
                     "%s: no authoritative server tells its serial", x->name);
    else if (serial_newer(s->serial, own))
        findings_add(&x->found, PROVIDER_ERROR, "url",
                     "the panel that writes the zone, and raise the serial "
                     "there above the served one",
                     "%s: the panel has serial %u, and DNS serves the newer "
                     "%u: secondaries will not take what the panel writes",
                     x->name, own, s->serial);
    else if (s->serial != own)
        findings_add(&x->found, PROVIDER_WARNING, NULL,
                     "wait two minutes and look again; then the panel's cron "
                     "and the name server's log",
                     "%s: the panel has serial %u, and DNS still serves %u",
                     x->name, own, s->serial);
    else
        findings_add(&x->found, PROVIDER_OK, NULL, NULL,
                     "%s: DNS serves serial %u of the panel", x->name, own);
    exam_end(x);
}

static void on_rows(void *arg, const struct isp_rows *rows)
{
    struct exam *x = arg;

    if (rows->err.code != ERR_NONE)
        findings_add(&x->found, PROVIDER_ERROR, NULL, NULL,
                     "%s: its records cannot be read: %s", x->name,
                     rows->err.msg);
    else
        findings_add(&x->found, PROVIDER_OK, NULL, NULL,
                     "%s: its records can be read", x->name);
    if (x->p->env.served_serial == NULL)
        exam_end(x);
    else
        x->p->env.served_serial(x->p->env.arg, x->name, on_served, x);
}

static void on_zone(void *arg, const struct isp_zone *z, const struct err *e)
{
    struct exam *x = arg;
    const char *names[1] = {x->name};

    if (z == NULL) {
        findings_add(&x->found, PROVIDER_ERROR, NULL,
                     strstr(e->msg, "switched off") != NULL
                         ? "set the zone active in the panel"
                         : "a zone that the panel has, and its server",
                     "%s", e->msg);
        exam_end(x);
        return;
    }
    x->zone = z;
    isp_rows_list(x->p, x->a, z, names, 1, on_rows, x);
}

void isp_check(struct provider *base, const char *zone, provider_check_cb *cb,
               void *arg)
{
    struct exam *x = mem_alloc(sizeof *x);

    x->p = (struct ispconfig *)base;
    x->a = arena_new();
    x->cb = cb;
    x->arg = arg;
    findings_init(&x->found);
    isp_begin(x->p);
    if (zone == NULL) {
        try_next(x);
        return;
    }
    memcpy(x->name, zone, strlen(zone) + 1);
    isp_zone_find(x->p, x->a, zone, on_zone, x);
}
