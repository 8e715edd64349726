#ifndef AGENT_PROBES_GRPC_H
#define AGENT_PROBES_GRPC_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/buf.h"
#include "agent/probes/kind.h"

/* The two messages of grpc.health.v1 Health/Check; pure. source: the proto
 * file of the gRPC health checking protocol, "gRPC over HTTP2" (framing),
 * protobuf's encoding guide */

/* A length-prefixed HealthCheckRequest. service: NULL, "" — the server */
void grpc_request(const char *service, struct buf *out);
/* A length-prefixed HealthCheckResponse, whole.
 * returns its status (1: SERVING), or -1: not one */
int64_t grpc_status(const uint8_t *p, size_t n);

#endif
