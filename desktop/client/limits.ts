/** Limits of the engine, with their reasons. Times are in ms. */
import { PENDING_TIMEOUT_MS, PING_INTERVAL_MS } from '../../shared/control.ts';
import { KNOCK_SECONDS } from '../../shared/knocks.ts';

// ## The relay

/** How long a REST call may take, including its response. A person is waiting for it. */
export const API_TIMEOUT_MS = 10_000;
/**
 * How long the library waits until the relay has closed a tunnel, so that a failed test ends within 2 s. After that, the tunnel
 * remains at the relay until it expires.
 */
export const LIBRARY_CLOSE_MS = 1500;
/**
 * Longest wait before a tunnel is requested again when the relay limits how many can be created: one is allowed every
 * 6 s (protocol.md section 3.2).
 */
export const CREATE_RETRY_MS = 60_000;
/**
 * Number of times that a tunnel is requested again while the relay limits how many can be created. Others on the account
 * may use the creations that become free; after this many tries the error is shown.
 */
export const CREATE_RETRIES_MAX = 10;
/** How long before a tunnel expires the first warning appears: time to finish something. */
export const EXPIRY_FIRST_WARNING_MS = 10 * 60_000;
/** How long before a tunnel expires the last warning appears: time to extend it. */
export const EXPIRY_LAST_WARNING_MS = 2 * 60_000;
/**
 * How often the relay is asked whether a tunnel was extended, once the last warning is over; and the longest wait before
 * a tunnel that lives as long as its client is looked at again.
 */
export const EXPIRY_LOOK_MS = 60_000;
/** Shortest wait before a failed extension is tried again: tunnels may live for seconds only. */
export const EXTEND_RETRY_MIN_MS = 1000;
/** Maximum size of a REST response: the largest is a list of tunnels, at about 700 bytes each. */
export const API_BODY_MAX_BYTES = 4 * 1024 * 1024;

/**
 * Maximum time to open the control socket: long enough for DNS, TCP and TLS over a bad network, short enough to
 * try again soon.
 */
export const CONTROL_HANDSHAKE_TIMEOUT_MS = 10_000;
/**
 * How long the control socket may be silent before the client considers it dead: the relay pings every 30 s, so this is
 * two missed pings and a margin.
 */
export const CONTROL_SILENCE_MS = 2 * PING_INTERVAL_MS + 15_000;
/** ms between two pings on the control socket while a tunnel has visitors, who would soon notice a dead line. */
export const CONTROL_PING_BUSY_MS = 5000;
/**
 * ms between two pings on the control socket of a tunnel without visitors. A relay may have thousands of such tunnels.
 */
export const CONTROL_PING_IDLE_MS = 15_000;
/** How long a tunnel counts as visited after its last visitor: the same person is likely to return. */
export const CONTROL_BUSY_FOR_MS = 60_000;
/**
 * How long the relay may take to answer a ping on the control socket before the client opens a second control socket.
 * TCP repairs a single loss in less time, even over a satellite.
 */
export const CONTROL_ANSWER_MS = 3000;
/** How long the relay may take to answer a Close frame before the client closes the socket anyway. */
export const CONTROL_CLOSE_TIMEOUT_MS = 1000;
/** Maximum size of the body that the relay sends when it refuses an upgrade, which holds one line of JSON. */
export const REFUSAL_BODY_MAX_BYTES = 4096;

/**
 * Maximum size of the headers in a proxy's response to CONNECT: proxies send a few fields; one that refuses may send
 * more.
 */
export const PROXY_HEAD_MAX_BYTES = 16 * 1024;

/**
 * Maximum time to open a data socket: the relay has dropped the visitor's connection by then (protocol.md section
 * 5.2).
 */
export const DATA_HANDSHAKE_TIMEOUT_MS = PENDING_TIMEOUT_MS;
/** ms between two tries to open the data socket of a visitor. */
export const DATA_RETRY_MS = 250;
/**
 * Number of trunks that the client opens while a tunnel has visitors: a lost packet stops only one of them. The relay
 * may accept fewer (protocol.md section 10).
 */
export const TRUNKS_WANTED = 2;
/** Delay before the client tries again after failing to open a trunk. Visitors are announced until the next try. */
export const TRUNK_RETRY_MS = 5000;
/**
 * How long the relay can go without reading any of what remains of an ended stream: as long as the relay waits for a visitor who
 * reads nothing.
 */
export const TRUNK_FLUSH_MS = 300_000;
/** How long a tunnel can go without visitors before the client closes its trunks. The next visitor is announced. */
export const TRUNK_KEEP_MS = 10 * 60_000;
/**
 * How long a connection may be silent before TCP probes whether the relay is still reachable, because routers drop
 * connections that are idle for minutes, such as a quiet WebSocket.
 */
export const DATA_KEEP_ALIVE_MS = 30_000;
/**
 * Maximum size of the headers in the relay's response to an upgrade: its 101 has four fields, and proxies on the way
 * add some.
 */
export const UPGRADE_HEAD_MAX_BYTES = 16 * 1024;

// ## The local service

/** How long a local server that rejected plain HTTP may take to show that it speaks TLS. */
export const TLS_PROBE_TIMEOUT_MS = 2000;
/**
 * How far this machine's clock and the relay's may differ before the clock is mentioned with a certificate that is not
 * valid at this time: smaller differences are common, and rarely the cause.
 */
export const CLOCK_SUSPECT_MS = 5 * 60_000;

/**
 * Maximum time to connect to the local service. A loopback connection takes microseconds; only a full accept queue
 * or a packet filter makes it wait.
 */
export const LOCAL_CONNECT_TIMEOUT_MS = 5000;
/** How often a restarting dev server is dialled until it listens again. */
export const LOCAL_RETRY_MS = 250;
/**
 * How long the local service may take to respond before the client reports that it is slow. It may take any time to
 * respond.
 */
export const LOCAL_SLOW_MS = 30_000;
/** How often the client looks for visitors who have been waiting. */
export const LOCAL_SLOW_LOOK_MS = 5000;
/**
 * How long a local service may keep its connection open after the visitor has left. With the tick this stays within 1 s
 * (protocol.md section 4.3).
 */
export const LOCAL_LINGER_MS = 750;
/**
 * How long the local service can go without accepting data before the client checks whether the visitor is still connected: it
 * reads nothing until then, so it does not see the end of the stream. As long as the relay waits for a visitor who may
 * have left.
 */
export const LOCAL_BLOCKED_MS = 10_000;
/**
 * ms between two such checks. The second one detects a visitor who has left, within 1 s (protocol.md section 4.3).
 */
export const LOCAL_BLOCKED_LOOK_MS = 500;
/**
 * How long the relay may take to send a request's headers. The relay forwards complete heads, so a missing head means
 * that something is broken.
 */
export const REQUEST_HEAD_TIMEOUT_MS = 10_000;
/** Maximum size of a request's headers from the relay: the relay accepts heads of 16 KiB and adds fields. */
export const REQUEST_HEAD_MAX_BYTES = 32 * 1024;
/** For parsing them: no further limits, because the relay has already refused longer ones. */
export const NO_LIMITS = { target: Infinity, fields: Infinity };
/**
 * Maximum size of response headers that the client parses, because the relay accepts no larger ones. A response with a
 * longer head is still passed on if its headers are not changed, but its connection is not reused.
 */
export const RESPONSE_HEAD_MAX_BYTES = 64 * 1024;
/**
 * Maximum number of bytes that are buffered after an upgrade request until the local service responds. Reading stops at
 * this limit.
 */
export const UPGRADE_EARLY_MAX_BYTES = 64 * 1024;
/**
 * Maximum number of requests on one stream whose responses are outstanding, if headers are changed: relays send the next
 * request after the response to the previous one.
 */
export const UNANSWERED_REQUESTS_MAX = 64;

/**
 * Maximum number of idle connections to the local service that are kept for reuse: enough even for a page that loads
 * everything at the same time. A service may spend a thread on each.
 */
export const LOCAL_IDLE_MAX = 64;
/**
 * How long an idle connection to the local service is kept for reuse. Services close idle connections: Node's after 5
 * s, some after 2 s. The client closes them first, which avoids most races.
 */
export const LOCAL_IDLE_MS = 2000;

/**
 * Maximum number of Maximum number of HTTP/2 connections to a tunnel's local service. Most services allow 100 requests on each,
 * which is enough for {@link CONNECTIONS_MAX} visitors.
 */
export const LOCAL_SESSIONS_MAX = 64;
/**
 * Maximum number of simultaneous requests on one HTTP/2 connection to the local service, even if the service allows
 * more: a lost packet or a large response delays the others.
 */
export const LOCAL_SESSION_STREAMS_MAX = 100;
/**
 * How long a request waits if an HTTP/2 service is already serving as many requests as it allows. A long call can keep
 * its place for any time.
 */
export const LOCAL_STREAM_WAIT_MS = 10_000;
/**
 * How long an HTTP/2 connection to the local service is kept without a request. This can be longer than {@link
 * LOCAL_IDLE_MS}, because an HTTP/2 service announces that it will close a connection.
 */
export const LOCAL_SESSION_IDLE_MS = 30_000;
/**
 * Maximum number of bytes of one response that an HTTP/2 service may send before the visitor has read them. The number
 * is odd because Node's servers leave out END_STREAM if a response ends exactly where the window ends, and response
 * sizes are often powers of two.
 */
export const LOCAL_STREAM_WINDOW_BYTES = 128 * 1024 - 1;
/**
 * Maximum number of bytes in transit of all responses on one HTTP/2 connection to the local service. Bytes count as
 * read when they arrive.
 */
export const LOCAL_SESSION_WINDOW_BYTES = 4 * 1024 * 1024;
/**
 * Maximum memory in MiB that an HTTP/2 connection to the local service may use for heads and for data that the service
 * has not read yet.
 */
export const LOCAL_SESSION_MEMORY_MB = 32;
/**
 * Maximum number of streams that are reset on one HTTP/2 connection to the local service before another connection
 * takes its place. Services end a connection with too many: Node's after 1000 in a burst.
 */
export const LOCAL_SESSION_RESETS_MAX = 200;
/**
 * Maximum number of fields in the head or the trailers of an HTTP/2 response. Node's default of 128 is too low for some
 * services.
 */
export const LOCAL_HEADERS_MAX = 512;
/**
 * Maximum number of bytes of a request body that are kept until the HTTP/2 service responds, so that the client can
 * repeat the request if the service has not processed it. Nearly all gRPC calls are smaller.
 */
export const LOCAL_REPEATED_BODY_MAX_BYTES = 64 * 1024;
/**
 * Maximum number of times that a request is sent to an HTTP/2 service that reports each time that it has not processed
 * the request.
 */
export const LOCAL_TRIES_MAX = 3;

/**
 * Precision of most of the client's timeouts: they share one timer, so each is a multiple of this, and fires up to this
 * much later.
 */
export const DEADLINE_TICK_MS = 250;

/**
 * Maximum number of visitor connections that the client serves at the same time. Each uses two file descriptors and at
 * most about 200 KiB; twice this stays below usual limits of a process.
 */
export const CONNECTIONS_MAX = 4096;

// ## Compression

/** Minimum size of a response that is compressed: for smaller ones, compression saves less than one packet. */
export const COMPRESSED_MIN_BYTES = 1024;
/**
 * Maximum number of responses that the client compresses at the same time, over all tunnels of the process; others are
 * sent uncompressed. Each uses up to 1.5 MB (docs/decisions/0025-compression-by-the-client.md).
 */
export const COMPRESSORS_MAX = 64;
/**
 * Delay after which compressed data is flushed to the visitor. Including the time for compression, the data arrives
 * within 50 ms (protocol.md section 6.3). Flushing this often makes a download hardly larger.
 */
export const COMPRESSION_FLUSH_MS = 10;
/**
 * How long it may take to compress and send the rest of a response that broke off: the visitor must learn of the end
 * within 1 s (protocol.md section 4.3).
 */
export const COMPRESSION_BREAK_MS = 500;
/**
 * Maximum number of Maximum number of ETags that the client remembers for each tunnel, to recognize them in later requests: more than a
 * site has files. If one is forgotten, some services send the whole response again.
 */
export const WEAKENED_TAGS_MAX = 4096;
/** Maximum length of an ETag that the client remembers: services use hashes. */
export const WEAKENED_TAG_MAX_CHARS = 128;

// ## Reconnecting

/**
 * Base of the delays before the client reconnects. Each delay is random between 0 and `base * 2^attempt`, so that many
 * clients do not return at the same time.
 */
export const RETRY_BASE_MS = 500;
/** Longest delay before the client reconnects: a relay that is back is noticed soon enough. */
export const RETRY_CAP_MS = 15_000;
/**
 * Longest delay before the client reconnects while nothing responds: the tunnel is back within 2 s after the network.
 * Such attempts cost the relay nothing.
 */
export const RETRY_QUICK_CAP_MS = 1500;
/**
 * How long after a failure the client uses the short reconnect delays. Short outages of networks and relays last
 * seconds. A longer one is likely to last much longer.
 */
export const RETRY_QUICK_FOR_MS = 120_000;
/**
 * Delay before each of the first two further attempts to connect to the relay, while no connection opens: TCP repeats a
 * lost packet after longer and longer pauses, but a new connection sends a new packet immediately.
 */
export const REDIAL_QUICK_MS = 1000;
/** ms between later attempts to connect to the relay: the client notices a restored line at most this much later. */
export const REDIAL_MS = 2000;
/**
 * Random share of the delay between two attempts to connect, so that the clients of a relay do not connect at the same
 * time.
 */
export const REDIAL_JITTER = 0.25;
/**
 * Maximum number of attempts to connect that are in progress at the same time. A further attempt replaces the oldest,
 * for which TCP repeats packets least often.
 */
export const REDIALS_MAX = 4;
/**
 * Period over which clients spread the opening of new control sockets after a trunk has broken: a restarting reverse
 * proxy breaks the trunks of all clients at the same time.
 */
export const LOST_TRUNK_SPREAD_MS = 500;
/**
 * How long after the client has given up an attempt to open a control socket the relay may still receive it and replace
 * a newer control socket with it. Operating systems repeat the data of a closed connection for up to about 100 s.
 */
export const LOST_TRY_MS = 120_000;
/** Longest `Retry-After` value that the client respects; a longer one is cut to this. */
export const RETRY_AFTER_MAX_MS = 5 * 60_000;
/** How long a connection must last to be considered stable: the next failure starts with short delays again. */
export const STABLE_CONNECTION_MS = 10_000;

/** Period over which clients spread their moves when a relay that is shutting down notifies all of them at once. */
export const DRAIN_SPREAD_MS = 2000;

/** How long after a sleep notification a machine that is still awake is assumed to have stayed awake. */
export const SUSPENDED_RETRY_MS = 60_000;
/**
 * Interval at which the client checks clocks and network addresses. This takes microseconds; a change is noticed at
 * most this much later.
 */
export const MACHINE_LOOK_MS = 500;
/** Minimum clock jump from which the client concludes that the machine was asleep. A busy program loses less. */
export const SLEEP_MIN_MS = 5000;

// ## Approval requests

/** How long a visitor waits for approval before the relay turns them away. */
export const APPROVAL_WAIT_MS = KNOCK_SECONDS * 1000;
/** Maximum number of pending approval requests for a tunnel; a relay queues no more than these. */
export const APPROVALS_MAX = 32;

// ## The request log

/** Number of requests that are kept per tunnel by default; also the length of `culvert inspect`'s list. */
export const RECORDED_REQUESTS_MAX = 200;
/**
 * Maximum memory used for each tunnel's recorded requests and responses: enough for the last 200 with the largest heads,
 * and bodies of the default size.
 */
export const RECORDED_BYTES_MAX = 50 * 1024 * 1024;
/** Number of characters of a request's path that are kept after its content is dropped to make room for newer requests. */
export const RECORDED_TARGET_MAX_CHARS = 512;
/** Maximum number of header bytes recorded for each request or response. The relay accepts no larger ones. */
export const RECORDED_HEAD_MAX_BYTES = 64 * 1024;
/** Number of bytes recorded for each body by default, as sent, including chunked coding. */
export const RECORDED_BODY_MAX_BYTES = 64 * 1024;
/**
 * Maximum number of bytes that users can have recorded for each body: a few of that size fit into
 * {@link RECORDED_BYTES_MAX}, and push out older ones.
 */
export const KEPT_BODY_MAX_BYTES = 10 * 1024 * 1024;
/** Number of WebSocket messages that are kept per connection, in both directions together. */
export const RECORDED_MESSAGES_MAX = 500;
/** Maximum memory used for the messages of one WebSocket. Beyond that, the oldest are dropped. */
export const RECORDED_MESSAGES_MAX_BYTES = 1024 * 1024;
/** Number of messages that are dropped together, because decompressing them one by one would cost more. */
export const RECORDED_MESSAGES_DROPPED = 64;
/**
 * Number of decompressed bytes of WebSocket messages per second and tunnel: decompressing them takes a few per cent of a
 * processor core, no matter what visitors send.
 */
export const INFLATED_BYTES_PER_SECOND = 8 * 1024 * 1024;

/** How long a replayed request may take. The user is waiting for it. */
export const REPLAY_TIMEOUT_MS = 60_000;
/** Maximum number of requests that may be replayed at the same time. */
export const REPLAYS_MAX = 8;

/** Maximum length of an edited request's method: the longest registered method has 17. */
export const EDITED_METHOD_MAX_CHARS = 32;
/** Maximum length of an edited request's path, including its query: the relay's limit for visitors. */
export const EDITED_TARGET_MAX_CHARS = 8 * 1024;
/** Maximum number of header fields in an edited request: the relay accepts 200 from a visitor, and adds some. */
export const EDITED_FIELDS_MAX = 256;
/**
 * Maximum size of an edited request's headers: that of a visitor's, so that head and target are recorded completely.
 */
export const EDITED_HEAD_MAX_BYTES = 32 * 1024;
/**
 * Maximum size of an imported file: a HAR of a few hundred requests with responses. Browsers can filter what they
 * export.
 */
export const IMPORT_MAX_BYTES = 32 * 1024 * 1024;
/**
 * Maximum number of requests that are imported from one file: half of the command's log, so that imported requests do
 * not push out all of the visitors' requests.
 */
export const IMPORTED_REQUESTS_MAX = 100;

/** Period that the traffic sparkline covers. */
export const SPARKLINE_SECONDS = 60;

/**
 * Accepted difference between a signature's timestamp and the arrival of its request, as documented by Stripe, Slack
 * and Svix.
 */
export const SIGNATURE_TOLERANCE_SECONDS = 300;

/** Maximum number of `culvert inspect` connections to one client process. */
export const INSPECTORS_MAX = 16;
/** Maximum number of calls of one `culvert inspect` that wait for their answers. The command makes one at a time. */
export const INSPECT_CALLS_MAX = 8;
/** Largest message of `culvert inspect`: an imported request and its response, with bodies of 64 KiB and their headers. */
export const INSPECT_REQUEST_MAX_BYTES = 512 * 1024;
/** How long `culvert inspect` may be connected without asking for anything. The command asks immediately. */
export const INSPECT_REQUEST_TIMEOUT_MS = 5000;
/**
 * Maximum size of a response to `culvert inspect`, and of what waits for one that does not read: 200 summaries with targets
 * of 8 KiB, or a request and its response with the largest bodies.
 */
export const INSPECT_ANSWER_MAX_BYTES = 32 * 1024 * 1024;
/** Amount of unread data after which a `culvert inspect watch` that has fallen behind is disconnected. */
export const INSPECT_BACKLOG_MAX_BYTES = 1024 * 1024;
/** Maximum number of decompressed bytes in one pass of a search through recorded requests: about a second of work in slices. */
export const SEARCHED_DECODED_MAX_BYTES = 64 * 1024 * 1024;
/** Maximum length of a request search: more than anybody types. */
export const SEARCH_MAX_CHARS = 200;
/** Number of searches of one request log that are continued when it changes. */
export const SEARCHES_MAX = 4;
/** Maximum size to which a compressed body is decompressed for display. */
export const DECODED_BODY_MAX_BYTES = 1024 * 1024;
/**
 * Maximum number of content encodings that are decoded to show one body; servers apply one. Each costs as much as the
 * largest body.
 */
export const DECODED_CODINGS_MAX = 4;

/** Maximum size of a question that `culvert mcp` asks the owner through the app, and of its answer. */
export const QUESTION_MAX_BYTES = 4096;
/** Messages around a message in a question: the longest policy has six. */
export const QUESTION_DEPTH_MAX = 8;
/** Maximum number of such questions that wait for the owner. */
export const QUESTIONS_MAX = 8;
/** How long a program that connects to ask the owner has to send its question. */
export const QUESTION_TIMEOUT_MS = 2000;

// ## Files that it reads

/** Maximum size of `culvert.yml`. A larger file must be a mistake: a tunnel needs about 150 bytes. */
export const CONFIG_FILE_MAX_BYTES = 64 * 1024;
/**
 * Maximum number of tunnels in one `culvert.yml`: each holds sockets and timers in one process; an account may open 10
 * a minute.
 */
export const CONFIG_TUNNELS_MAX = 64;
/** Maximum length of a tunnel name in `culvert.yml`: longer names leave no room for anything else on a line. */
export const LABEL_MAX_LENGTH = 32;
/** Longest time that a visitor may wait for a service that is restarting. Browsers show nothing until then. */
export const WAIT_MAX_SECONDS = 60;
/** Maximum number of `hosts` of a tunnel: each service has its own connections. */
export const CONFIG_HOSTS_MAX = 32;
