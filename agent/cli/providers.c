#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/cli/cli.h"
#include "providers/describe.h"
#include "providers/provider.h"

/* `providers`: what types there are, what each can and takes. */

#define WIDTH 78

/* Text in lines of WIDTH, behind indent blanks. */
static void put_wrapped(const char *text, int indent)
{
    int at = 0;

    for (size_t n; *text != '\0'; text += n) {
        text += strspn(text, " ");
        n = strcspn(text, " ");
        if (at == 0 || at + 1 + (int)n > WIDTH) {
            (void)printf("%s%*s", at == 0 ? "" : "\n", indent, "");
            at = indent;
        } else {
            (void)putchar(' ');
            at++;
        }
        (void)printf("%.*s", (int)n, text);
        at += (int)n;
    }
    (void)putchar('\n');
}

static void put_option(const struct config_field *f)
{
    (void)printf("    %s%s", f->name, f->required ? " (required)" : "");
    if (f->dflt != NULL)
        (void)printf(" (default %s)", f->dflt);
    (void)putchar('\n');
    put_wrapped(f->help != NULL ? f->help : "", 8);
    if (f->env != NULL) {
        char *names = mem_printf("environment: %s", f->env);

        put_wrapped(names, 8);
        free(names);
    }
}

static void put_text(const struct provider_ops *ops,
                     const struct describe_fact *facts, size_t n)
{
    (void)printf("%s\n", ops->type);
    for (size_t i = 0; i < n; i++) {
        if (!facts[i].is_number && facts[i].yes)
            (void)printf("  %s\n", facts[i].help);
        else if (facts[i].is_number && facts[i].number > 0)
            (void)printf("  %s: %lld %s\n", facts[i].help, facts[i].number,
                         facts[i].unit);
    }
    (void)puts(
        "  options, and the variables that give them where the file does not:");
    for (const struct config_field *f = ops->fields; f->name != NULL; f++)
        put_option(f);
}

static void add_env(cJSON *o, const char *env)
{
    cJSON *list = cJSON_AddArrayToObject(o, "env");

    for (size_t n; env != NULL && *env != '\0'; env += n) {
        char *name;

        env += strspn(env, " ");
        n = strcspn(env, " ");
        name = mem_strndup(env, n);
        (void)cJSON_AddItemToArray(list, cJSON_CreateString(name));
        free(name);
    }
}

static void add_option(cJSON *list, const struct config_field *f)
{
    static const char *const kinds[] = {[CONFIG_STR] = "text",
                                        [CONFIG_INT] = "number",
                                        [CONFIG_BOOL] = "yes or no"};
    cJSON *o = cJSON_CreateObject();

    (void)cJSON_AddStringToObject(o, "name", f->name);
    (void)cJSON_AddStringToObject(o, "kind",
                                  f->is_command ? "command" : kinds[f->kind]);
    (void)cJSON_AddBoolToObject(o, "required", f->required);
    if (f->dflt != NULL)
        (void)cJSON_AddStringToObject(o, "default", f->dflt);
    (void)cJSON_AddStringToObject(o, "help", f->help != NULL ? f->help : "");
    add_env(o, f->env);
    (void)cJSON_AddItemToArray(list, o);
}

static void put_json(const struct provider_ops *ops,
                     const struct describe_fact *facts, size_t n)
{
    cJSON *o = cJSON_CreateObject(), *part;
    char *text;

    (void)cJSON_AddStringToObject(o, "type", ops->type);
    part = cJSON_AddObjectToObject(o, "capabilities");
    for (size_t i = 0; i < n; i++) {
        if (facts[i].is_number)
            (void)cJSON_AddNumberToObject(part, facts[i].id,
                                          (double)facts[i].number);
        else
            (void)cJSON_AddBoolToObject(part, facts[i].id, facts[i].yes);
    }
    part = cJSON_AddArrayToObject(o, "options");
    for (const struct config_field *f = ops->fields; f->name != NULL; f++)
        add_option(part, f);
    text = cJSON_PrintUnformatted(o);
    (void)puts(text != NULL ? text : "{}");
    cJSON_free(text);
    cJSON_Delete(o);
}

static void put_type(const struct cli_options *o,
                     const struct provider_ops *ops)
{
    struct arena *a = arena_new();
    struct describe_fact *facts;
    size_t n = describe_facts(ops, a, &facts);

    if (o->json)
        put_json(ops, facts, n);
    else
        put_text(ops, facts, n);
    arena_free(a);
}

static int run(const struct cli_options *o, char *const *args)
{
    for (size_t i = 0; args[i] != NULL; i++) {
        if (provider_find(args[i]) != NULL)
            continue;
        return cli_fail(CLI_USAGE,
                        "no provider type \"%s\"; dnsfailover providers lists "
                        "them",
                        args[i]);
    }
    for (size_t i = 0; args[0] == NULL && providers[i] != NULL; i++) {
        if (i > 0 && !o->json)
            (void)putchar('\n');
        put_type(o, providers[i]);
    }
    for (size_t i = 0; args[i] != NULL; i++)
        put_type(o, provider_find(args[i]));
    return CLI_DONE;
}

const struct cli_command cli_providers = {
    "providers",
    "[TYPE...]",
    "the provider types, what each can and takes",
    "For each type: what it can, its options with their defaults, and the\n"
    "environment variables that give them where the file does not.",
    "JhV",
    run};
