#include "resolver/channel.h"

/* 1.18 and later: what newer releases deprecate is all there is in 1.18. */
#define CARES_NO_DEPRECATED
#include <ares.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <utlist.h>
#include <uv.h>

#include "agent/base/mem.h"
#include "resolver/message.h"

/* With 100 answers of 1,232 bytes in flight a default buffer overflows. Not
 * more: some systems refuse a size beyond their maximum. */
#define RECEIVE_BUFFER (256 * 1024)

/* One descriptor of c-ares in the loop; freed by its close callback only. */
struct watch {
    uv_poll_t poll; /* first: freed through its handle */
    struct channel *channel;
    ares_socket_t fd;
    int events; /* of libuv */
    struct watch *prev, *next;
};

struct channel {
    struct loop *loop;
    ares_channel ares;
    uint64_t timeout_ms; /* of a query's first try */
    uv_timer_t *timer;
    struct watch *watches;
};

struct pending { /* one query: what c-ares hands back */
    channel_cb *cb;
    channel_drop *drop;
    void *arg;
};

static void free_handle(uv_handle_t *h)
{
    free(h);
}

static void on_timer(uv_timer_t *t);

static void arm_timer(struct channel *c)
{
    struct timeval tv, *next = ares_timeout(c->ares, NULL, &tv);
    int64_t ms;

    if (next == NULL) {
        (void)uv_timer_stop(c->timer);
        return;
    }
    /* Rounded up: c-ares cuts its microseconds off, and a timer that fires
     * early would spin until they are over. */
    ms = (int64_t)next->tv_sec * 1000 + (next->tv_usec + 999) / 1000 + 1;
    uv_update_time(loop_uv(c->loop));
    (void)uv_timer_start(c->timer, on_timer, (uint64_t)ms, 0);
}

static void process(struct channel *c, ares_socket_t rd, ares_socket_t wr)
{
    ares_process_fd(c->ares, rd, wr);
    arm_timer(c);
}

static void on_timer(uv_timer_t *t)
{
    process(t->data, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

static void on_event(uv_poll_t *h, int status, int events)
{
    struct watch *w = (struct watch *)h;

    /* Reading comes first: a write to a connection that the server has closed
     * fails and would drop the answers that came before. What can be written
     * is said again in the next turn. An error is for c-ares to find when it
     * reads. */
    if (status < 0 || (events & UV_READABLE))
        process(w->channel, w->fd, ARES_SOCKET_BAD);
    else
        process(w->channel, ARES_SOCKET_BAD, w->fd);
    /* After an error libuv has stopped watching, while c-ares may not have
     * read all there is. w itself lives until its close callback. */
    if (status < 0 && !uv_is_closing((uv_handle_t *)h))
        (void)uv_poll_start(h, w->events, on_event);
}

static void unwatch(struct channel *c, struct watch *w)
{
    /* c-ares closes the descriptor next and its number comes back at once:
     * the loop has to forget it now, not in the close callback. */
    (void)uv_poll_stop(&w->poll);
    DL_DELETE(c->watches, w);
    uv_close((uv_handle_t *)&w->poll, free_handle);
}

static void on_socket_state(void *data, ares_socket_t fd, int rd, int wr)
{
    struct channel *c = data;
    struct watch *w;
    int events = (rd ? UV_READABLE : 0) | (wr ? UV_WRITABLE : 0);

    DL_FOREACH(c->watches, w)
    if (w->fd == fd)
        break;
    if (events == 0) {
        if (w != NULL)
            unwatch(c, w);
        return;
    }
    if (w == NULL) {
        w = mem_alloc(sizeof *w);
        if (uv_poll_init_socket(loop_uv(c->loop), &w->poll, fd) != 0) {
            free(w); /* the query ends by its timeout */
            return;
        }
        w->channel = c;
        w->fd = fd;
        DL_APPEND(c->watches, w);
    }
    w->events = events;
    (void)uv_poll_start(&w->poll, events, on_event);
}

/* Everything is given here, so that neither resolv.conf nor LOCALDOMAIN nor
 * RES_OPTIONS has a say. */
static int open_ares(struct channel *c, enum channel_kind kind,
                     int64_t timeout_ms, int tries)
{
    char lookups[] = "b"; /* no hosts file; copied like all of o */
    struct in_addr nobody = {0};
    struct ares_options o = {0};
    int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
               ARES_OPT_NDOTS | ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS |
               ARES_OPT_SOCK_STATE_CB | ARES_OPT_SOCK_RCVBUF |
               ARES_OPT_NOROTATE | ARES_OPT_EDNSPSZ | ARES_OPT_SERVERS;

    o.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_NOCHECKRESP |
              ARES_FLAG_IGNTC;
    if (kind == CHANNEL_EDNS)
        o.flags |= ARES_FLAG_EDNS;
    if (kind == CHANNEL_TCP)
        o.flags |= ARES_FLAG_USEVC;
    o.timeout = (int)timeout_ms;
    o.tries = tries;
    o.ndots = 1;
    o.lookups = lookups;
    o.sock_state_cb = on_socket_state;
    o.sock_state_cb_data = c;
    o.socket_receive_buffer_size = RECEIVE_BUFFER;
    o.ednspsz = MESSAGE_UDP_SIZE;
    o.servers = &nobody; /* replaced by open_server */
    o.nservers = 1;
#ifdef ARES_OPT_QUERY_CACHE
    /* Newer releases answer from a cache unless told not to. */
    mask |= ARES_OPT_QUERY_CACHE;
    o.qcache_max_ttl = 0;
#endif
    return ares_init_options(&c->ares, &o, mask);
}

static int set_server(struct channel *c, const struct addr *server)
{
    struct ares_addr_port_node node = {0};

    node.family = server->family == 6 ? AF_INET6 : AF_INET;
    memcpy(&node.addr, server->bytes, server->family == 6 ? 16 : 4);
    node.udp_port = server->port;
    node.tcp_port = server->port;
    return ares_set_servers_ports(c->ares, &node);
}

int channel_new(struct loop *l, const struct addr *server,
                enum channel_kind kind, int64_t timeout_ms, int tries,
                struct channel **out, struct err *e)
{
    struct channel *c = mem_alloc(sizeof *c);
    int status;

    *out = NULL;
    c->loop = l;
    c->timeout_ms = (uint64_t)timeout_ms;
    status = open_ares(c, kind, timeout_ms, tries);
    if (status != ARES_SUCCESS) {
        free(c);
        return err_set(e, ERR_LOCAL, "c-ares: %s", ares_strerror(status));
    }
    status = set_server(c, server);
    if (status != ARES_SUCCESS) {
        ares_destroy(c->ares);
        free(c);
        return err_set(e, ERR_LOCAL, "c-ares: %s", ares_strerror(status));
    }
    c->timer = mem_alloc(sizeof *c->timer);
    (void)uv_timer_init(loop_uv(l), c->timer);
    c->timer->data = c;
    *out = c;
    return 0;
}

void channel_free(struct channel *c)
{
    if (c == NULL)
        return;
    ares_destroy(c->ares); /* ends what is open: on_answer */
    while (c->watches != NULL)
        unwatch(c, c->watches);
    uv_close((uv_handle_t *)c->timer, free_handle);
    free(c);
}

static void on_answer(void *arg, int status, int timeouts, unsigned char *wire,
                      int len)
{
    struct pending *p = arg;

    (void)timeouts;
    if (status == ARES_EDESTRUCTION)
        p->drop(p->arg);
    else
        p->cb(p->arg, status, wire, len > 0 ? (size_t)len : 0);
    free(p);
}

void channel_send(struct channel *c, const uint8_t *wire, size_t len,
                  channel_cb *cb, channel_drop *drop, void *arg)
{
    struct pending *p = mem_alloc(sizeof *p);

    p->cb = cb;
    p->drop = drop;
    p->arg = arg;
    ares_send(c->ares, wire, (int)len, on_answer, p);
    /* To find out which timeout is next costs a look at each query; as a rule
     * it is that of one that is out already. */
    if (!uv_is_active((uv_handle_t *)c->timer) ||
        uv_timer_get_due_in(c->timer) > c->timeout_ms)
        arm_timer(c);
}

static size_t read_nodes(const struct ares_addr_port_node *node,
                         struct addr *out)
{
    size_t n = 0;

    for (; node != NULL; node = node->next) {
        struct addr a = {0};

        if (node->family != AF_INET && node->family != AF_INET6)
            continue;
        a.family = node->family == AF_INET6 ? 6 : 4;
        memcpy(a.bytes, &node->addr, a.family == 6 ? 16 : 4);
        a.port = node->udp_port != 0 ? (uint16_t)node->udp_port : 53;
        if (out != NULL)
            out[n] = a;
        n++;
    }
    return n;
}

int channel_resolv_conf(struct addr **servers, size_t *n, struct err *e)
{
    struct ares_addr_port_node *nodes = NULL;
    ares_channel ares;
    int status = ares_init(&ares);

    *servers = NULL;
    if (status == ARES_SUCCESS) {
        status = ares_get_servers_ports(ares, &nodes);
        ares_destroy(ares);
    }
    if (status != ARES_SUCCESS)
        return err_set(e, ERR_LOCAL, "resolv.conf: %s", ares_strerror(status));
    *n = read_nodes(nodes, NULL);
    *servers = mem_array(*n, sizeof **servers);
    (void)read_nodes(nodes, *servers);
    ares_free_data(nodes);
    if (*n == 0)
        return err_set(e, ERR_LOCAL, "resolv.conf names no server");
    return 0;
}
