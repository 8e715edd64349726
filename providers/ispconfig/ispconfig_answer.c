#include <stdio.h>
#include <string.h>

#include "providers/ispconfig/ispconfig.h"
#include "providers/shared/markup.h"

/* What the faults mean for the caller. */
enum fault_flags {
    STOPS = 1, /* nothing more may be sent for now */
    EARLY = 2, /* raised before anything is changed */
};
static const struct fault_row {
    const char *code;
    enum err_code err;
    int flags;
} faults[] = {
    {"login_failed", ERR_AUTH, STOPS | EARLY},
    {"login_username_empty", ERR_AUTH, STOPS | EARLY},
    {"login_password_empty", ERR_AUTH, STOPS | EARLY},
    {"client_login_failed", ERR_AUTH, STOPS | EARLY},
    {"login_failure_limit", ERR_AUTH, STOPS | EARLY},
    {"session_failure_limit", ERR_AUTH, STOPS | EARLY},
    {"session_ip_mismatch", ERR_AUTH, STOPS | EARLY},
    {"permission_denied", ERR_AUTH, 0},
    {"maintenance_mode", ERR_RETRY, EARLY},
    {"session_does_not_exist", ERR_RETRY, EARLY},
    {"session_id_empty", ERR_RETRY, EARLY},
    {"session_id_nostring", ERR_RETRY, EARLY},
    {"invalid_method", ERR_UNSUPPORTED, EARLY},
    {"invalid_id", ERR_INPUT, EARLY},
    {"invalid_client_id", ERR_INPUT, EARLY},
    {"data_processing_error", ERR_INPUT, 0},
    {"database_error", ERR_RETRY, 0},
};

static const struct fault_row *fault_find(const char *code)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        if (strcmp(faults[i].code, code) == 0)
            return &faults[i];
    return NULL;
}

bool isp_fault_stops(const char *fault)
{
    const struct fault_row *f = fault_find(fault);

    return f != NULL && (f->flags & STOPS) != 0;
}

bool isp_fault_is_early(const char *fault)
{
    const struct fault_row *f = fault_find(fault);

    return f != NULL && (f->flags & EARLY) != 0;
}

const char *isp_checkbox(const char *method)
{
    static const struct {
        const char *prefix, *box;
    } boxes[] = {
        {"dns_aaaa_", "DNS aaaa functions"},
        {"dns_a_", "DNS a functions"},
        {"dns_cname_", "DNS cname functions"},
        {"dns_txt_", "DNS txt functions"},
        {"dns_", "DNS zone functions"},
    };

    for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++)
        if (strncmp(method, boxes[i].prefix, strlen(boxes[i].prefix)) == 0)
            return boxes[i].box;
    return method;
}

static void read_fault(const struct soap_answer *s, const char *method,
                       struct isp_reply *r)
{
    const struct fault_row *f = fault_find(s->code);
    enum err_code code = f != NULL ? f->err : ERR_RETRY;

    memcpy(r->fault, s->code, sizeof r->fault);
    if (strcmp(s->code, "permission_denied") == 0)
        (void)err_set(&r->err, code,
                      "the remote user lacks '%s'; tick it in the panel at "
                      "System > Remote Users (%s: %s)",
                      isp_checkbox(method), method, s->text);
    else
        (void)err_set(&r->err, code, "%s: %s: %s", method, s->code, s->text);
}

/* The page in place of an update without a usable id: of the record itself,
 * or of the zone whose serial was to rise, and then the record is changed. */
static int read_no_id(const char *method, const char *text, struct isp_reply *r)
{
    (void)snprintf(r->fault, sizeof r->fault, "%s", ISPCONFIG_NO_ID);
    return err_set(&r->err, ERR_UNKNOWN,
                   "%s: the panel found no record or zone of that id (\"%s\")",
                   method, text);
}

/* Answers that are not SOAP: what they most likely mean. */
static void read_foreign(const struct http_response *h, const char *method,
                         struct isp_reply *r)
{
    char text[160];

    (void)markup_strip(h->body, text, sizeof text);
    if (h->status >= 300 && h->status < 400)
        (void)err_set(&r->err, ERR_INPUT,
                      "%s: HTTP %ld to \"%.200s\": redirects are not followed "
                      "(the password would travel with them); write the final "
                      "address as url",
                      method, h->status,
                      h->location != NULL ? h->location : "");
    else if (h->status == 401 || h->status == 403)
        (void)err_set(&r->err, ERR_AUTH,
                      "%s: HTTP %ld: the web server refuses: %s", method,
                      h->status, text);
    else if (strstr(h->body, "Remote API is disabled") != NULL)
        (void)err_set(&r->err, ERR_AUTH,
                      "%s: the panel says \"%s\": set remote_api_allowed = yes "
                      "in its security_settings.ini",
                      method, text);
    else if (strstr(h->body, "Primary ID fehlt!") != NULL)
        (void)read_no_id(method, text, r);
    else if (h->status == 404)
        (void)err_set(&r->err, ERR_INPUT,
                      "%s: HTTP 404: url does not lead to the remote API; it "
                      "ends in /remote/index.php",
                      method);
    else if (h->body_len == 0)
        (void)err_set(&r->err, ERR_RETRY,
                      "%s: HTTP %ld with an empty answer; url ends in "
                      "/remote/index.php",
                      method, h->status);
    else
        (void)err_set(
            &r->err, ERR_RETRY,
            "%s: HTTP %ld with a page (%.60s) in place of SOAP: \"%s\"", method,
            h->status, h->content_type, text);
}

/* Anything that starts like XML and names an envelope; a page in HTML does
 * not. A first look only, for the choice of the message. */
static bool looks_like_soap(const char *body)
{
    body += strspn(body, " \t\r\n\xef\xbb\xbf");
    return *body == '<' && strstr(body, "Envelope") != NULL;
}

void isp_answer_read(const struct http_response *h, const char *method,
                     struct arena *a, struct isp_reply *r)
{
    struct soap_answer *s = arena_alloc(a, sizeof *s);

    memset(r, 0, sizeof *r);
    r->was_sent = true;
    if (h->status == 0) {
        r->err = h->err;
        (void)err_wrap(&r->err, "%s", method);
        r->was_sent = h->err.code == ERR_UNKNOWN || h->err.code == ERR_LIMIT;
        return;
    }
    if (!looks_like_soap(h->body)) {
        read_foreign(h, method, r);
        return;
    }
    /* HTTP 500 is what a fault comes with; the envelope decides. */
    if (soap_parse(a, h->body, h->body_len, ISPCONFIG_MAX_ANSWER, s, &r->err) !=
        0) {
        (void)err_wrap(&r->err, "%s", method);
        return;
    }
    if (s->is_fault)
        read_fault(s, method, r);
    else if (h->status != 200)
        (void)err_set(&r->err, ERR_RETRY, "%s: HTTP %ld", method, h->status);
    else
        r->value = &s->value;
}
