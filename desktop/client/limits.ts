/** Limits of the engine, with their reasons. Times are in ms. */
import { PENDING_TIMEOUT_MS, PING_INTERVAL_MS } from '../../shared/control.ts';

// ## The relay

/** One REST call including its response. A person is waiting for it. */
export const API_TIMEOUT_MS = 10_000;
/** The largest response is a list of tunnels, at about 700 bytes each. */
export const API_BODY_MAX_BYTES = 4 * 1024 * 1024;

/** Long enough for DNS, TCP and TLS over a bad network, short enough to try again soon. */
export const CONTROL_HANDSHAKE_TIMEOUT_MS = 10_000;
/** The relay pings every 30 s, so this is two missed pings and a margin: the connection is dead. */
export const CONTROL_SILENCE_MS = 2 * PING_INTERVAL_MS + 15_000;
/** How long the relay may take to answer a Close frame before the client ends the socket without it. */
export const CONTROL_CLOSE_TIMEOUT_MS = 1000;
/** The body of a refused upgrade holds one line of JSON. */
export const REFUSAL_BODY_MAX_BYTES = 4096;

/** Proxies respond to CONNECT with a few fields; one that refuses may send more. */
export const PROXY_HEAD_MAX_BYTES = 16 * 1024;

/** The relay has dropped the connection by then (protocol.md section 5.2). */
export const DATA_HANDSHAKE_TIMEOUT_MS = PENDING_TIMEOUT_MS;
/** ms between two tries to open the data socket of a visitor. */
export const DATA_RETRY_MS = 250;
/**
 * Trunks while a tunnel has visitors: a lost packet stops only one of them. The relay may accept fewer
 * (protocol.md section 10).
 */
export const TRUNKS_WANTED = 2;
/** Pause after a failed trunk, in ms. Visitors are announced until the next try. */
export const TRUNK_RETRY_MS = 5000;
/**
 * How long a relay may read nothing of the remaining bytes of an ended stream, in ms: as long as it waits for a visitor
 * who reads nothing.
 */
export const TRUNK_FLUSH_MS = 300_000;
/** After this long without a visitor, a tunnel closes its trunks, and its next visitor is announced. */
export const TRUNK_KEEP_MS = 10 * 60_000;
/** TCP keep-alive, because routers drop connections that are idle for minutes, such as a quiet WebSocket. */
export const DATA_KEEP_ALIVE_MS = 30_000;
/** The relay's 101 has four fields, and proxies on the way add some. */
export const UPGRADE_HEAD_MAX_BYTES = 16 * 1024;

// ## The local service

/** How long a server that broke off a request without TLS may take to show that it speaks TLS. */
export const TLS_PROBE_TIMEOUT_MS = 2000;

/** A loopback connection takes microseconds; only a full accept queue or a packet filter makes it wait. */
export const LOCAL_CONNECT_TIMEOUT_MS = 5000;
/** How often a restarting dev server is dialled until it listens again. */
export const LOCAL_RETRY_MS = 250;
/** A local service may take any time to respond. After this long, the user is told. */
export const LOCAL_SLOW_MS = 30_000;
/** How often the client looks for visitors who have been waiting. */
export const LOCAL_SLOW_LOOK_MS = 5000;
/**
 * After the visitor has left, a local service that does not close is disconnected, within 1 s (protocol.md section
 * 4.3), including the tick.
 */
export const LOCAL_LINGER_MS = 750;
/**
 * ms without room at the local service after which the client checks whether its visitor is still connected: it reads
 * nothing until then, so it does not see the end of the stream. As long as the relay waits for a visitor who may have
 * left.
 */
export const LOCAL_BLOCKED_MS = 10_000;
/**
 * ms between two such checks. The second one detects a visitor who has left, within 1 s (protocol.md section 4.3).
 */
export const LOCAL_BLOCKED_LOOK_MS = 500;
/** The relay forwards complete heads, so a missing head means that something is broken. */
export const REQUEST_HEAD_TIMEOUT_MS = 10_000;
/** The relay accepts heads of 16 KiB and adds fields. */
export const REQUEST_HEAD_MAX_BYTES = 32 * 1024;
/** A response with a longer head is still passed on, but its connection is not reused. */
export const RESPONSE_HEAD_MAX_BYTES = 32 * 1024;
/** Bytes that wait after an upgrade request until the local service has answered it. Reading stops at this limit. */
export const UPGRADE_EARLY_MAX_BYTES = 64 * 1024;

/** Enough even for a page that loads everything at the same time. A service may spend a thread on each. */
export const LOCAL_IDLE_MAX = 64;
/**
 * Services close idle connections: Node's after 5 s, some after 2 s. The client closes them first, which avoids most
 * races.
 */
export const LOCAL_IDLE_MS = 2000;

/** Many deadlines share one timer: each is a multiple of this, and fires up to this much later. */
export const DEADLINE_TICK_MS = 250;

/** Each uses two file descriptors and at most about 200 KiB; twice this stays below usual limits of a process. */
export const CONNECTIONS_MAX = 4096;

// ## Reconnecting

/** Retry delays are random between 0 and `base * 2^attempt`, so that many clients do not return at the same time. */
export const RETRY_BASE_MS = 500;
/** The longest retry delay: a relay that is back is noticed soon enough. */
export const RETRY_CAP_MS = 15_000;
/**
 * The longest delay while nothing responds, which costs the relay nothing: the tunnel is back within 2 s of the
 * network.
 */
export const RETRY_QUICK_CAP_MS = 1500;
/** Short outages of networks and relays last seconds. A longer one is likely to last much longer. */
export const RETRY_QUICK_FOR_MS = 60_000;
/** A longer `Retry-After` is cut to this. */
export const RETRY_AFTER_MAX_MS = 5 * 60_000;
/** A connection that lasted this long was stable: the next failure starts with short delays again. */
export const STABLE_CONNECTION_MS = 10_000;

/**
 * A relay that shuts down notifies all its clients at the same time. Their moves to another are spread over this time.
 */
export const DRAIN_SPREAD_MS = 2000;

/** A machine that was about to sleep but is still awake after this long will not sleep. */
export const SUSPENDED_RETRY_MS = 60_000;
/** Looking at clocks and network addresses takes microseconds; a change is noticed at most this much later. */
export const MACHINE_LOOK_MS = 2000;
/** A clock that jumps this far ahead means that the machine was asleep. A busy program loses less. */
export const SLEEP_MIN_MS = 5000;
/**
 * How much V8's memory for old objects may grow before it collects garbage there, in % of what was in use the last
 * time, about 8 MB. Measured with bodies of 100 KB: a third of the CPU of V8's default, for 35 MB more.
 */
export const OLD_GENERATION_GROWTH_PERCENT = 600;

// ## The request log

/** Requests kept per tunnel, unless the user of the log asks for more; also the length of `culvert inspect`'s list. */
export const RECORDED_REQUESTS_MAX = 200;
/** Memory for recorded messages of each tunnel: enough for the last 200 with heads and bodies of the maximum size. */
export const RECORDED_BYTES_MAX = 50 * 1024 * 1024;
/** Characters kept of a request's address after its messages were dropped for newer ones. */
export const RECORDED_TARGET_MAX_CHARS = 512;
/** Recorded bytes of each request or response head. The relay accepts no larger ones. */
export const RECORDED_HEAD_MAX_BYTES = 64 * 1024;
/** Recorded bytes of each body, as sent, including chunked coding. */
export const RECORDED_BODY_MAX_BYTES = 64 * 1024;

/** A request that is repeated by hand. The user is waiting for it. */
export const REPLAY_TIMEOUT_MS = 60_000;
/** Requests repeated at the same time. */
export const REPLAYS_MAX = 8;

/** The longest registered method has 17 characters. */
export const EDITED_METHOD_MAX_CHARS = 32;
/** The relay's limit for visitors. */
export const EDITED_TARGET_MAX_CHARS = 8 * 1024;
/** The relay accepts 200 fields from a visitor, and adds some. */
export const EDITED_FIELDS_MAX = 256;
/** The size of a visitor's request head, so that head and target are recorded completely. */
export const EDITED_HEAD_MAX_BYTES = 32 * 1024;
/** A HAR of a few hundred requests with responses. Browsers can filter what they export. */
export const IMPORT_MAX_BYTES = 32 * 1024 * 1024;
/** Half of the command's log, so that imported requests do not push out all of the visitors' requests. */
export const IMPORTED_REQUESTS_MAX = 100;

/** How much recent traffic the sparkline shows. */
export const SPARKLINE_SECONDS = 60;

/** How far the time of a signature may be from its request's arrival, in s, as documented by Stripe, Slack and Svix. */
export const SIGNATURE_TOLERANCE_SECONDS = 300;

/** Connections of `culvert inspect` to one process. */
export const INSPECTORS_MAX = 16;
/** The longest line: an imported request and its response, bodies of 64 KiB as base64 and heads in JSON. */
export const INSPECT_REQUEST_MAX_BYTES = 512 * 1024;
/** How long a connection of `culvert inspect` may take to send its request. The command sends it immediately. */
export const INSPECT_REQUEST_TIMEOUT_MS = 5000;
/** The longest answer: 200 summaries with targets of 8 KiB, or two messages of 128 KiB as base64 in JSON. */
export const INSPECT_ANSWER_MAX_BYTES = 8 * 1024 * 1024;
/** Unread data of a watcher. A watcher that falls further behind is disconnected. */
export const INSPECT_BACKLOG_MAX_BYTES = 1024 * 1024;
/** Decoded size of a compressed body that is shown. */
export const DECODED_BODY_MAX_BYTES = 1024 * 1024;
/**
 * Content codings of one body that are decoded to show it; servers apply one. Each costs as much as the largest body.
 */
export const DECODED_CODINGS_MAX = 4;
