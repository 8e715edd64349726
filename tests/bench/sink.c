/* sink PORT: listens on 0.0.0.0:PORT, accepts and closes at once. sink -b PORT:
 * a full backlog that nobody accepts from (connects time out). sink -h PORT:
 * connects succeed, never a byte comes. */
#include "tests/bench/bench.h"
#include <poll.h>

int main(int argc, char **argv)
{
    bool hole = argc > 2 && !strcmp(argv[1], "-b"),
         hold = argc > 2 && !strcmp(argv[1], "-h");
    int port = num(argv[argc - 1]);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
        on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port)};
    if (bind(fd, (void *)&sa, sizeof sa) || listen(fd, hole ? 0 : 65535))
        die("listen");
    while (hold)
        pause();
    if (hole) {
        for (int i = 0; i < 2; i++) { /* fill the queue of length 0+1 */
            int c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
            sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            connect(c, (void *)&sa, sizeof sa);
        }
        for (;;)
            pause();
    }
    struct pollfd p = {.fd = fd, .events = POLLIN};
    for (;;) {
        int c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (c >= 0)
            close(c);
        else if (errno == EAGAIN)
            poll(&p, 1, -1);
    }
}
