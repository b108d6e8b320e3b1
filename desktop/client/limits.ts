/** Every limit of the engine, with its reason. Times are in ms. */
import { PENDING_TIMEOUT_MS, PING_INTERVAL_MS } from '../../shared/control.ts';

// ## The relay

/** One REST call, response included. A person is waiting for it. */
export const API_TIMEOUT_MS = 10_000;
/** The largest response is a list of tunnels, at about 700 bytes each. */
export const API_BODY_MAX_BYTES = 4 * 1024 * 1024;

/** Long enough for DNS, TCP and TLS over a bad network, short enough to try again soon. */
export const CONTROL_HANDSHAKE_TIMEOUT_MS = 10_000;
/** The relay pings every 30 s: two pings and a margin without one mean that nothing comes through. */
export const CONTROL_SILENCE_MS = 2 * PING_INTERVAL_MS + 15_000;
/** How long the relay may take to answer a Close frame before we end the socket without it. */
export const CONTROL_CLOSE_TIMEOUT_MS = 1000;
/** The body of a refused upgrade holds one line of JSON. */
export const REFUSAL_BODY_MAX_BYTES = 4096;

/** Proxies respond to CONNECT with a few fields; one that refuses may send more. */
export const PROXY_HEAD_MAX_BYTES = 16 * 1024;

/** After that the relay has dropped the connection (docs/protocol.md section 5.2). */
export const DATA_HANDSHAKE_TIMEOUT_MS = PENDING_TIMEOUT_MS;
/** ms between two tries to open the data socket of a visitor. */
export const DATA_RETRY_MS = 250;
/** Trunks while visitors come: a lost packet stops one of them. The relay may take fewer (docs/protocol.md section 10). */
export const TRUNKS_WANTED = 2;
/** ms without another try after a trunk has come to nothing; visitors are announced meanwhile. */
export const TRUNK_RETRY_MS = 5000;
/**
 * ms in which the relay has to take more of what is before the end of a stream: as long as it waits for a visitor who takes
 * nothing.
 */
export const TRUNK_FLUSH_MS = 300_000;
/** Without a visitor for this long, a tunnel keeps no trunk: the next one is announced. */
export const TRUNK_KEEP_MS = 10 * 60_000;
/** TCP keep-alive: routers on the way forget connections that are idle for minutes, such as a quiet WebSocket. */
export const DATA_KEEP_ALIVE_MS = 30_000;
/** The relay's 101 has four fields; proxies in between add some. */
export const UPGRADE_HEAD_MAX_BYTES = 16 * 1024;

// ## The local service

/** A server that has broken off a request without TLS is asked this long whether TLS is what it speaks. */
export const TLS_PROBE_TIMEOUT_MS = 2000;

/** A loopback connection takes microseconds; only a full accept queue or a packet filter makes it wait. */
export const LOCAL_CONNECT_TIMEOUT_MS = 5000;
/** How often a restarting dev server is asked whether it is listening again. */
export const LOCAL_RETRY_MS = 250;
/** A local service may take as long as it likes; whoever runs it may want to know. */
export const LOCAL_SLOW_MS = 30_000;
/** How often we look for visitors who have been waiting. */
export const LOCAL_SLOW_LOOK_MS = 5000;
/**
 * The visitor is gone: a local service that does not take its leave is left, within 1 s (docs/protocol.md section 4.3), the
 * tick included.
 */
export const LOCAL_LINGER_MS = 750;
/**
 * ms without room at the local service after which we check whether its visitor is still there: meanwhile nothing is read, so the end of
 * the stream is not seen. As long as the relay waits for a visitor who may have left.
 */
export const LOCAL_BLOCKED_MS = 10_000;
/** ms between two such checks. The second one after a visitor has left shows it, within 1 s (docs/protocol.md section 4.3). */
export const LOCAL_BLOCKED_LOOK_MS = 500;
/** The relay hands on complete heads, so the head is there at once unless something is broken. */
export const REQUEST_HEAD_TIMEOUT_MS = 10_000;
/** The relay takes heads of 16 KiB and adds fields of its own. */
export const REQUEST_HEAD_MAX_BYTES = 32 * 1024;
/** Beyond that a response is passed on all the same, but its connection is not used again. */
export const RESPONSE_HEAD_MAX_BYTES = 32 * 1024;
/** Bytes behind an offer to upgrade that wait until the local service has answered it, before no more are read. */
export const UPGRADE_EARLY_MAX_BYTES = 64 * 1024;

/** Even a page that asks for everything at once does not need more; at worst, a service spends a thread on each. */
export const LOCAL_IDLE_MAX = 64;
/** Services close idle connections: Node's after 5 s, some after 2 s. Ours go first, which avoids most races. */
export const LOCAL_IDLE_MS = 2000;

/** Limits of many things are kept by one timer: each is a multiple of this, and kept up to this much later. */
export const DEADLINE_TICK_MS = 250;

/** Each takes two file descriptors and at most some 200 KiB; twice this stays below usual limits of a process. */
export const CONNECTIONS_MAX = 4096;

// ## Coming back

/** Retry delays are random between 0 and `base * 2^attempt`, so that many clients do not come back at once. */
export const RETRY_BASE_MS = 500;
/** The most that these delays grow to: a relay that is back is noticed soon enough. */
export const RETRY_CAP_MS = 15_000;
/** While nothing responds at all, which costs the relay nothing: the tunnel is back within 2 s of the network. */
export const RETRY_QUICK_CAP_MS = 1500;
/** Networks and relays that go away come back within seconds; what is away for longer is away for long. */
export const RETRY_QUICK_FOR_MS = 60_000;
/** A `Retry-After` beyond this is not believed. */
export const RETRY_AFTER_MAX_MS = 5 * 60_000;
/** A connection that lasted this long was good: the next failure starts with short delays again. */
export const STABLE_CONNECTION_MS = 10_000;

/** A relay that shuts down tells all its clients at once: they move to the others spread over this time. */
export const DRAIN_SPREAD_MS = 2000;

/** A machine that was about to sleep and has not by then will not. */
export const SUSPENDED_RETRY_MS = 60_000;
/** Looking at clocks and network addresses takes microseconds; a change is noticed at most this much later. */
export const MACHINE_LOOK_MS = 2000;
/** A clock that jumps this far ahead means the machine was asleep. A busy program loses less. */
export const SLEEP_MIN_MS = 5000;
/**
 * How much V8's memory for old objects may grow before garbage is searched in it, in % of what was in use the last time, some
 * 8 MB. Measured with bodies of 100 KB: a third of the CPU of V8's own choice, for 35 MB more.
 */
export const OLD_GENERATION_GROWTH_PERCENT = 600;

// ## The request log

/** Requests of one tunnel that are kept, unless whoever opens a log wants more; also what `culvert inspect` lists. */
export const RECORDED_REQUESTS_MAX = 200;
/** What their messages may take together, for each tunnel: enough for the last 200, each with heads and bodies as large as may be. */
export const RECORDED_BYTES_MAX = 50 * 1024 * 1024;
/** Of the address of a request whose messages have made room for newer ones. */
export const RECORDED_TARGET_MAX_CHARS = 512;
/** Of each head that is recorded, request or response. The relay accepts none that are larger. */
export const RECORDED_HEAD_MAX_BYTES = 64 * 1024;
/** Of each body that is recorded, as it was sent, chunked coding included. */
export const RECORDED_BODY_MAX_BYTES = 64 * 1024;

/** A request that is repeated by hand; whoever asked for it waits. */
export const REPLAY_TIMEOUT_MS = 60_000;
/** Requests that are being repeated at the same time. */
export const REPLAYS_MAX = 8;

/** The longest registered method has 17 characters. */
export const EDITED_METHOD_MAX_CHARS = 32;
/** As much as a relay takes of a visitor. */
export const EDITED_TARGET_MAX_CHARS = 8 * 1024;
/** A relay takes 200 of a visitor, and adds some. */
export const EDITED_FIELDS_MAX = 256;
/** As much as the head of a visitor's request has; together with the target it is recorded whole. */
export const EDITED_HEAD_MAX_BYTES = 32 * 1024;
/** A HAR of some hundred requests with their responses; a longer one is filtered by the browser that writes it. */
export const IMPORT_MAX_BYTES = 32 * 1024 * 1024;
/** Half of what a log of the command keeps: visitors' requests make room for those that are imported. */
export const IMPORTED_REQUESTS_MAX = 100;

/** For how many seconds the traffic of a tunnel is counted. */
export const SPARKLINE_SECONDS = 60;

/** How far the time of a signature may be from the time at which its request came, in s: what Stripe, Slack and Svix document. */
export const SIGNATURE_TOLERANCE_SECONDS = 300;

/** Connections of `culvert inspect` to one process. */
export const INSPECTORS_MAX = 16;
/** The longest line: an imported request and its response, bodies of 64 KiB as base64 and heads in JSON. */
export const INSPECT_REQUEST_MAX_BYTES = 512 * 1024;
/** How long a connection of `culvert inspect` may take to ask for something: the command asks at once. */
export const INSPECT_REQUEST_TIMEOUT_MS = 5000;
/** The longest answer: 200 summaries with targets of 8 KiB, or two messages of 128 KiB as base64 in JSON. */
export const INSPECT_ANSWER_MAX_BYTES = 8 * 1024 * 1024;
/** Data a watcher has not read; one that falls further behind is disconnected. */
export const INSPECT_BACKLOG_MAX_BYTES = 1024 * 1024;
/** Of a compressed body, when it is shown. */
export const DECODED_BODY_MAX_BYTES = 1024 * 1024;
/** Content codings of one body that are removed to show it; servers apply one. Each costs as much as the largest body. */
export const DECODED_CODINGS_MAX = 4;
