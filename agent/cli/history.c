#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/cli/cli.h"
#include "agent/engine/round/round.h"
#include "agent/engine/state/state.h"
#include "agent/report/table.h"

/* `history`: the transitions and changes that the state remembers. */

struct printer {
    struct table *table; /* NULL: JSON lines */
};

static void print_json(const struct state_event *ev, const char *time)
{
    cJSON *o = cJSON_CreateObject();
    size_t len;
    const char *view = round_type_view(ev->type, &len);
    char *text, *type = mem_strndup(ev->type, len);

    (void)cJSON_AddStringToObject(o, "time", time);
    (void)cJSON_AddStringToObject(o, "event", ev->event);
    (void)cJSON_AddStringToObject(o, "zone", ev->zone);
    (void)cJSON_AddStringToObject(o, "name", ev->name);
    (void)cJSON_AddStringToObject(o, "type", type);
    if (view != NULL)
        (void)cJSON_AddStringToObject(o, "view", view);
    (void)cJSON_AddStringToObject(o, "data", ev->data);
    (void)cJSON_AddStringToObject(o, "reason", ev->reason);
    text = cJSON_PrintUnformatted(o);
    (void)puts(text != NULL ? text : "{}");
    cJSON_free(text);
    cJSON_Delete(o);
    free(type);
}

static bool each(void *arg, const struct state_event *ev)
{
    struct printer *p = arg;
    char time[32];

    clock_format(ev->wall_ms, time, sizeof time);
    if (p->table != NULL) {
        const char *cells[] = {time,     ev->event, ev->name,
                               ev->type, ev->data,  ev->reason};

        table_row(p->table, cells);
    } else {
        print_json(ev, time);
    }
    return true;
}

static int show(const struct cli_options *o, const struct config *cfg,
                const char *want, struct printer *p)
{
    struct state *s = NULL;
    struct err e;
    int rc = CLI_DONE;

    cli_ask_to_save(cfg->state);
    if (state_open(cfg->state, true, &s, &e) != 0 ||
        state_history(s, want[0] != '\0' ? want : NULL, (size_t)o->limit, each,
                      p, &e) != 0)
        rc =
            cli_fail(e.code == ERR_INPUT ? CLI_USAGE : CLI_FAILED, "%s", e.msg);
    state_close(s);
    return rc;
}

static int run(const struct cli_options *o, char *const *args)
{
    static const char *const heads[] = {"TIME", "EVENT",  "NAME", "TYPE",
                                        "DATA", "REASON", NULL};
    struct printer p = {o->json ? NULL : table_new(heads)};
    char want[NAME_SIZE] = "";
    struct config *cfg = NULL;
    int rc = CLI_DONE;

    if (args[0] != NULL && (args[1] != NULL || cli_name(args[0], want) != 0))
        rc = CLI_USAGE;
    else if ((cfg = cli_config(o)) == NULL)
        rc = CLI_USAGE;
    else
        rc = show(o, cfg, want, &p);
    if (p.table != NULL)
        table_print(p.table, stdout);
    config_free(cfg);
    return rc;
}

const struct cli_command cli_history = {
    "history",
    "[NAME]",
    "transitions and changes, newest first",
    "What became unavailable or available, what was published or withdrawn "
    "and\n"
    "why, problems and their end; of NAME and below, or of everything.",
    "cJnhV",
    run};
