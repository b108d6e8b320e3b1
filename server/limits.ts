/**
 * Limits on what the relay stores, waits for and accepts, each with its reason. The limits of the protocol itself are
 * in `shared/`. A number that nobody outside can exhaust or wait for (the length of a key, how often the relay checks
 * its own state) is defined where it is used.
 */

// ## API

/** Maximum size of a request body (protocol.md section 2.2: 413 above). A create request needs a few hundred bytes. */
export const BODY_MAX_BYTES = 16 * 1024;

/**
 * Maximum number of invalid API keys that an IP address may send per minute, and in one burst; further ones get 429
 * instead of 401, so that a misconfigured program slows down. Valid keys are never refused.
 */
export const WRONG_KEYS_PER_MINUTE = 30;
/** Maximum number of unknown API keys or invitations that the database looks up at the same time. */
export const LOOKUPS_AT_ONCE = 8;
/** Maximum number of them from one IP address; addresses take turns, and the relay's own machine counts as one. */
export const ADDRESS_LOOKUPS_AT_ONCE = 2;
/** Maximum number of an IP address's unknown API keys or invitations that may wait for that; more get 503. */
export const ADDRESS_LOOKUPS_WAITING_MAX = 1000;
/**
 * Maximum number of valid API keys that the relay caches, which do not have to wait for that; about 1 MB. Beyond that,
 * the least recently used key is dropped.
 */
export const KNOWN_KEYS_MAX = 10_000;
/** Average number of create requests that an account may make per minute (protocol.md section 3.2). */
export const CREATES_PER_MINUTE = 10;
/** Maximum number of create requests that an account may make in one burst (protocol.md section 3.2). */
export const CREATE_BURST = 5;

/** Share of event-loop time that the API may use while visitors are being served; visitors keep three quarters. */
export const API_LOOP_SHARE = 0.25;
/** Event-loop time that the API may use in one burst: a few requests. */
export const API_LOOP_BURST_MS = 1;
/**
 * Estimated ratio of the total event-loop time of an API request to the time it uses before its first database call.
 * The total includes head and response. Measured: 1.3 for requests that need no store, up to 3 for those that do.
 */
export const API_COST_FACTOR = 3;
/** How long visitors still count as busy after the event loop last did work for them. */
export const VISITORS_RECENT_MS = 20;
/**
 * Maximum number of API writes that the database processes at the same time: enough to keep it busy, few enough to
 * finish soon.
 */
export const API_WRITES_MAX = 8;
/** Maximum number of API writes from one account that the database processes at the same time. */
export const ACCOUNT_WRITES_MAX = 2;

/**
 * Number of tunnels in a list response that are serialized before other work gets a turn: this takes about as long as
 * another request.
 */
export const LIST_BATCH = 50;

// ## Tunnels and the store

/**
 * ms between two flushes of traffic counters. With the time a flush takes, a crash loses at most the last second
 * (protocol.md section 3.3).
 */
export const FLUSH_INTERVAL_MS = 900;
/**
 * If a tunnel in idle mode expires sooner than this, its traffic is stored immediately when several relays share the
 * database: longer than they would otherwise have to wait for it.
 */
export const FLUSH_URGENT_MS = 2000;
/**
 * Delay before storing the traffic of a tunnel in idle mode that is about to expire; other traffic of that time is
 * stored with it.
 */
export const FLUSH_SOON_MS = 50;
/**
 * Number of tunnels whose traffic counters are stored in one transaction. A larger one would delay visitors while it
 * runs.
 */
export const FLUSH_BATCH = 200;

/** How long a statement waits for another process that is writing to the same SQLite file before failing. */
export const SQLITE_BUSY_MS = 2000;
/** ms between two tries of such a statement. */
export const SQLITE_RETRY_MS = 10;
/** ms between two times that a SQLite file receives what is in its log. */
export const SQLITE_CHECKPOINT_MS = 5000;

/**
 * Maximum number of operations waiting for the thread of an embedded database; further ones are refused with 503. The
 * thread handles about 20,000 a second.
 */
export const STORE_CALLS_MAX = 5000;
/**
 * How long the thread of an embedded database may stay silent before the relay considers it stuck, including anything
 * it may itself wait for.
 */
export const STORE_ANSWER_TIMEOUT_MS = 10_000;
/** Delay before the thread of an embedded database is restarted after a crash. */
export const STORE_THREAD_RETRY_MS = 1000;

/** Maximum number of open connections to PostgreSQL. A server accepts 100 by default, and statements are short. */
export const POSTGRES_CONNECTIONS_MAX = 10;
/** Maximum number of operations waiting for a connection to PostgreSQL; further ones are refused with 503. */
export const POSTGRES_WAITING_MAX = 1000;
/** Maximum time to connect to PostgreSQL, including the wait for a connection that is in use. */
export const POSTGRES_CONNECT_TIMEOUT_MS = 2000;
/** How long a statement waits for a row that another relay has locked in PostgreSQL. */
export const POSTGRES_LOCK_TIMEOUT_MS = 2000;
/** How long a statement or an idle transaction may last before the PostgreSQL server cancels it. */
export const POSTGRES_STATEMENT_TIMEOUT_MS = 4000;
/**
 * How long the relay waits for PostgreSQL to answer or cancel a statement before it considers the server unreachable.
 */
export const POSTGRES_QUERY_TIMEOUT_MS = 5000;
/** Pause before the next attempt to connect to PostgreSQL after a failure; doubled for each failure in a row. */
export const POSTGRES_RETRY_BASE_MS = 100;
/** Longest pause before the next attempt to connect to PostgreSQL: a server that is back is noticed within a second. */
export const POSTGRES_RETRY_CAP_MS = 1000;
/** How long a relay waits at startup for another relay on the same database that is about to exit. */
export const POSTGRES_RELAY_LOCK_WAIT_MS = 2000;
/** ms between two attempts to get the lock that gives a relay exclusive use of a database. */
export const POSTGRES_RELAY_LOCK_RETRY_MS = 500;
/** Maximum time to close the connections to PostgreSQL cleanly. */
export const POSTGRES_CLOSE_TIMEOUT_MS = 2000;

/**
 * Number of rows that one statement copies to another database. PostgreSQL accepts 65,535 values in a statement, and a
 * tunnel has 12.
 */
export const TRANSFER_BATCH = 1000;

/** Number of tunnels that one query reads when a relay starts. */
export const LOAD_BATCH = 500;

/** The `Retry-After` value in responses while the database cannot be reached. */
export const STORE_RETRY_AFTER_SECONDS = 1;

/**
 * How long a tunnel that no relay has ended keeps its slug after its stored expiry: longer than the clock difference
 * between relays, and longer than it takes to store traffic that prolongs a tunnel.
 */
export const EXPIRED_GRACE_MS = 60_000;

/**
 * Number of random slugs that are tried before tunnel creation fails; with 50 random bits a second try is already
 * extremely rare.
 */
export const SLUG_ATTEMPTS = 5;

// ## Log and metrics

/** Maximum size of the log lines buffered for a slow reader; several thousand lines. */
export const LOG_BUFFER_MAX_BYTES = 1024 * 1024;
/**
 * Maximum time to write the last log lines when the relay exits: a stalled reader must not keep the program
 * running.
 */
export const LOG_CLOSE_TIMEOUT_MS = 1000;
/** Duration above which a database operation is reported as slow: a hundred times what a commit to a disk takes. */
export const STORE_SLOW_MS = 500;
/** How long the event loop may be blocked before the relay reports it; visitors notice less. */
export const LOOP_STALL_MS = 1000;
/** ms between two log lines that report the same thing as slow. */
export const LOG_REPEAT_MS = 10_000;
/** How long the database has to answer a readiness probe; the prober itself waits a few seconds. */
export const READY_TIMEOUT_MS = 2000;
/** Maximum number of concurrent connections to `/metrics`: one for each Prometheus, and some for people. */
export const METRICS_CONNECTIONS_MAX = 16;
/** How long a request for `/metrics` may take to arrive. */
export const METRICS_REQUEST_TIMEOUT_MS = 5000;

// ## Start, shutdown and handoff

/** How long open connections have to finish after the first SIGTERM (protocol.md section 7). */
export const STOP_DEADLINE_MS = 30_000;
/**
 * How long an idle connection stays open after SIGTERM for a request that is already on its way: more than a round
 * trip.
 */
export const DRAIN_IDLE_MS = 1000;
/**
 * How long a relay that is shutting down waits for a quiet moment to close its listener, even if connections still
 * arrive.
 */
export const DRAIN_BACKLOG_MS = 5000;
/**
 * How long a relay that is shutting down waits for that moment before it holds new requests back until the listener is
 * closed: a busy relay accepts connections more slowly than they arrive.
 */
export const DRAIN_HOLD_AFTER_MS = 500;
/** Longest event-loop iteration that counts as a quiet moment to close the listener. */
export const QUIET_TURN_MS = 0.2;
/**
 * Interval at which the iteration length that counts as quiet is doubled while the listener waits to close: a busy
 * relay has no quieter one.
 */
export const QUIET_DOUBLING_MS = 500;
/**
 * How long clients have to move to another relay before a relay that is shutting down disconnects them: twice the
 * period over which they are spread, and time for a few attempts.
 */
export const DRAIN_MOVE_MS = 5000;
/**
 * ms between two checks, during shutdown, for visitors that still wait for data sockets and clients that are still
 * connected.
 */
export const DRAIN_LOOK_MS = 20;
/** Maximum time to notify the service manager that the relay has started. */
export const NOTIFY_TIMEOUT_MS = 5000;
/** How long a relay started with `--detach` may take to start accepting requests. */
export const DETACHED_START_MS = 120_000;
/** How long two relays wait for each other at each step of a handoff. */
export const HANDOFF_STEP_MS = 10_000;
/**
 * How long the new relay may take to load its data during a handoff while the old one is still serving: the database
 * may have to be migrated.
 */
export const HANDOFF_READY_MS = 60_000;
/** How long a handoff waits for the rest of an API request's body to arrive. */
export const HANDOFF_SETTLE_MS = 2000;
/** How long the first line from the other relay may take to arrive during a handoff. */
export const HANDOFF_HELLO_MS = 5000;
/** Maximum size of a message between the two relays in a handoff: the clients of 100,000 tunnels. */
export const HANDOFF_LINE_MAX_BYTES = 16 * 1024 * 1024;
/** Maximum number of unread messages between the two relays in a handoff. */
export const SUCCESSION_WAITING_MAX = 64;
/** How long a relay keeps an idle visitor connection open after a new process has replaced it. */
export const REPLACED_IDLE_MS = 10_000;
/** ms until the next try after a connection to the new relay was refused because its accept queue was full. */
export const HANDOFF_RETRY_MS = 20;

// ## Largest values of settings

/** Maximum of `CULVERT_MAX_TTL`: ten years. Keeps every expiry within what JavaScript dates can represent. */
export const TTL_CEILING_SECONDS = 10 * 365 * 24 * 3600;

/** Maximum of `CULVERT_NAME_HOLD`: a year. Each ended tunnel occupies a row in the store for that time. */
export const NAME_HOLD_CEILING_SECONDS = 365 * 24 * 3600;

/**
 * Maximum value of `CULVERT_MAX_CONNECTIONS` and `CULVERT_ADDRESS_CONNECTIONS`: by default no process may have more file
 * descriptors than that, and each visitor uses up to two.
 */
export const CONNECTIONS_CEILING = 500_000;
/**
 * Maximum of `CULVERT_ADDRESS_REQUESTS` (requests per second): a relay serves fewer, so a higher value would not be a
 * limit.
 */
export const ADDRESS_REQUESTS_CEILING = 100_000;

// ## Changed keys, and memory

/** ms between two checks for changed keys and accounts; the relay must act on a change within 1 s. */
export const ACCESS_POLL_MS = 300;
/** Number of keys or accounts that one query reads. SQLite accepts 32,766 values in a statement. */
export const ACCESS_BATCH = 500;

/**
 * Growth of V8's old generation after one garbage collection that triggers the next. Measured: V8's own
 * choice, up to 300, takes as much CPU.
 */
export const OLD_GENERATION_GROWTH_PERCENT = 100;

// ## Connections of visitors

/**
 * Maximum number of concurrent visitor connections; the default of a setting. Each may cost about 170 KiB in the worst
 * case.
 */
export const CONNECTIONS_MAX = 10_000;
/**
 * Maximum number of new visitor connections that do not yet count towards `CULVERT_MAX_CONNECTIONS`: those that have not
 * sent a request, and those that only the relay itself has responded to. More than a full accept queue, so that a burst
 * of visitors is accepted.
 */
export const NEWCOMERS_MAX = 8192;
/**
 * Maximum ratio of the connection slots used by one account's tunnels to the slots still free for other accounts. So the
 * first account gets at most three quarters, and the next one three quarters of the rest, even if their plans are
 * unlimited.
 */
export const ACCOUNT_SHARE = 3;
/**
 * Maximum number of concurrent connections from one visitor address; the default of a setting. A browser opens six to a
 * host, so about forty people can share an address.
 */
export const ADDRESS_CONNECTIONS_MAX = 256;
/**
 * Maximum burst of requests from one address, expressed in seconds at its maximum request rate (protocol.md section
 * 4.6).
 */
export const ADDRESS_BURST_SECONDS = 10;
/**
 * Maximum number of accounts or addresses that a rate limiter tracks; about 10 MB. Beyond that, the least recently seen
 * one is forgotten.
 */
export const RATE_BUCKETS_MAX = 100_000;

// ## HTTP/2

/** Maximum number of concurrent streams on one HTTP/2 connection; more are refused (RFC 9113 section 5.1.2). */
export const HTTP2_STREAMS_MAX = 100;
/**
 * Maximum number of bytes of a request body that wait in the relay for each HTTP/2 stream. At first, a visitor can send
 * only this much per round trip.
 */
export const HTTP2_STREAM_WINDOW_BYTES = 64 * 1024;
/**
 * Maximum number of streams that a visitor may reset in a burst on one HTTP/2 connection: a browser that leaves a page
 * resets all of its streams. More resets end the connection (CVE-2023-44487).
 */
export const HTTP2_RESETS_BURST = 1000;
/** Maximum average number of streams that a visitor may reset per second on one HTTP/2 connection. */
export const HTTP2_RESETS_PER_SECOND = 100;
/**
 * Maximum number of frames in a burst on one HTTP/2 connection that carry nothing of a request: PING, SETTINGS,
 * PRIORITY, empty DATA, and WINDOW_UPDATE beyond two for each frame of a response. More end the connection.
 */
export const HTTP2_CONTROL_BURST = 2000;
/** Maximum average number of such frames per second on one HTTP/2 connection. */
export const HTTP2_CONTROL_PER_SECOND = 200;
/** Maximum number of bytes of request bodies that wait in the relay for each HTTP/2 connection. */
export const HTTP2_CONNECTION_WINDOW_BYTES = 1024 * 1024;
/**
 * Number of bytes of a request body that the tunnel must accept, without another body in between, before its stream may
 * use the whole window of its HTTP/2 connection.
 */
export const HTTP2_WIDEN_BYTES = 256 * 1024;
/**
 * How long a request body may wait in the relay without being read, if all bodies together use up the window of their
 * HTTP/2 connection. Then its stream is closed, so that the others can continue.
 */
export const HTTP2_STANDSTILL_MS = 5000;
/**
 * How long a visitor with HTTP/2 may accept nothing while more than {@link HTTP2_CONNECTION_WINDOW_BYTES} and one window
 * wait for its connection. Then the relay closes streams until they fit.
 */
export const HTTP2_UNREAD_MS = 10_000;
/** Number of bytes of responses that are written to an HTTP/2 connection at a time. */
export const HTTP2_WRITE_BYTES = 64 * 1024;
/**
 * Maximum size of the compressed fields of an HTTP/2 request. A visitor that sends more loses its connection. A head
 * that is larger than {@link REQUEST_HEAD_MAX_BYTES} but within this limit gets a response with status 431.
 */
export const HTTP2_BLOCK_MAX_BYTES = 256 * 1024;
/**
 * Share of `CULVERT_MAX_CONNECTIONS` that the connections and HTTP/2 streams from one address may use in total. With the
 * defaults, about 25 people who share an address can have 100 streams each.
 */
export const ADDRESS_STREAM_SHARE = 0.25;

// ## Clients

/**
 * Maximum number of control and data sockets opened by clients; about 7 KB each. Fewer than the file descriptors that
 * systems allow a process.
 */
export const CLIENT_SOCKETS_MAX = 100_000;
/**
 * Maximum number of a tunnel's visitors that may wait for its client. The client accepts at most as many. Visitors
 * count whether they are announced or not yet.
 */
export const WAITING_MAX = 4096;

/** How long visitors wait for a client that has just disconnected (protocol.md section 4.2). */
export const HOLD_OVER_MS = 10_000;
/**
 * How long a client that seems to be gone has to respond on each of its data sockets. Long, because a ping waits behind
 * what was sent before; including the second until the relay checks, visitors still get a response within 10 s.
 */
export const LIFE_SIGN_MS = 8000;
/** Maximum number of trunks that a client may open per tunnel (protocol.md section 10); the default of a setting. */
export const TRUNKS_MAX = 2;
/** Maximum of `CULVERT_TRUNKS`: a lost packet stalls one trunk, and more than a few make no difference. */
export const TRUNKS_CEILING = 16;
/**
 * How long a tunnel's trunks can go without visitors before the relay closes them. Only the relay knows that no visitor
 * is on the way.
 */
export const TRUNK_IDLE_MS = 60_000;
/**
 * How long data on a trunk may go unanswered before the relay probes the client and sends it no new visitors over that
 * trunk until it responds. A local service may need longer to respond; the client itself answers.
 */
export const TRUNK_DOUBT_MS = 2000;
/**
 * Round-trip time above which the relay treats a client as distant: a window of 64 KiB per stream is little above it
 * and plenty below.
 */
export const FAR_PATH_MS = 5;
/**
 * Number of round trips that are measured, one per second, before a slow client is treated as distant: one that is busy
 * or has just been started takes longer to answer.
 */
export const PATH_PINGS_MAX = 10;
/**
 * Number of bytes sent in only one direction after which a distant client's stream moves to its own connection: more
 * than a page. A move takes three round trips, and the new connection starts slowly, so that only transfers of several
 * times that gain time.
 */
export const LARGE_FROM_FAR_BYTES = 512 * 1024;
/**
 * Number of bytes sent in only one direction after which a distant client's stream moves to its own connection if the
 * other streams of a slow trunk have carried as many in that time. Where packets are lost, they all share the speed of one
 * connection.
 */
export const LARGE_AMONG_OTHERS_BYTES = 128 * 1024;
/** Bytes per millisecond of such a trunk's streams below which it is slow: 4 Mbit/s. */
export const SLOW_TRUNK_RATE = 500;
/**
 * Number of bytes sent in only one direction after which a nearby client's stream moves to its own connection. Only
 * very large transfers gain anything there: this is more than the system buffers for a visitor that reads nothing,
 * which is better served on a trunk.
 */
export const LARGE_BYTES = 8 * 1024 * 1024;
/**
 * Minimum time that a client has to acknowledge the end of a stream, which waits behind what was sent before
 * (protocol.md section 10.2).
 */
export const TRUNK_ANSWER_MS = 60_000;
/**
 * How long a client has to accept each additional 16 KiB of a stream that has ended, or the rest of it: as long as for
 * what precedes the Close frame of a data socket.
 */
export const TRUNK_FLUSH_MS = 60_000;
/**
 * How long a client has to respond on each trunk that it opened under an earlier control socket, after it has opened a
 * new control socket. The client has most likely lost its network in between, and visitors are waiting.
 */
export const EARLIER_TRUNK_ANSWER_MS = 1000;
/**
 * Maximum number of trunks from a client's previous control sockets that may still carry visitors; the oldest is closed
 * first.
 */
export const RETIRED_TRUNKS_MAX = 8;
/** Maximum size of the announcements queued for a client that is not reading them; about ten thousand announcements. */
export const CONTROL_BUFFER_MAX_BYTES = 1024 * 1024;
/** How long a tunnel's client is not told about another problem of the same kind. */
export const PROBLEM_INTERVAL_MS = 1000;
/**
 * How long a client has to answer the Close frame on its control socket. Until then, a tunnel keeps at most one
 * replaced control socket.
 */
export const CONTROL_CLOSE_TIMEOUT_MS = 5000;

// ## Requests of visitors

/**
 * How long before a browser sees a free-plan tunnel's warning page again: longer than nearly all of those
 * tunnels exist.
 */
export const NOTICE_COOKIE_SECONDS = 30 * 24 * 3600;

/** Maximum size of a request's headers, including the request line (protocol.md section 4.5: 431 above). */
export const REQUEST_HEAD_MAX_BYTES = 16 * 1024;
/** Maximum number of header fields in a request (protocol.md section 4.5: 431 above). */
export const REQUEST_FIELDS_MAX = 200;
/** Maximum size of a request's path and query (protocol.md section 4.5: 414 above). */
export const REQUEST_TARGET_MAX_BYTES = 8 * 1024;
/**
 * Maximum size of the headers of a local service's response. Generous, because cookies and policies of development
 * servers grow large.
 */
export const RESPONSE_HEAD_MAX_BYTES = 64 * 1024;
/**
 * Maximum number of header fields in a local service's response. One policy field of each kind is about fifty; browsers
 * keep 180 cookies per site.
 */
export const RESPONSE_FIELDS_MAX = 500;
/**
 * Maximum number of consecutive 1xx responses before the final one. Servers send one or two, and Go's client accepts
 * five.
 */
export const INFORMATIONAL_RESPONSES_MAX = 64;
/**
 * Number of parsed `Host` values that the relay caches in each of two generations; visitors send few different ones.
 */
export const REMEMBERED_HOSTS_MAX = 512;
/**
 * Number of connections that the operating system queues until the relay accepts them. Beyond that, a connection waits
 * a second for its next attempt.
 */
export const LISTEN_BACKLOG = 1024;
/** Number of unprocessed bytes from a visitor after which the relay stops reading from the connection for a while. */
export const BACKLOG_MAX_BYTES = 64 * 1024;

/** How long a request's headers may take to arrive after their first byte (protocol.md section 4.5: 408 after). */
export const HEAD_TIMEOUT_MS = 15_000;
/**
 * How long the relay waits for more of an unfinished request body before a response begins (protocol.md section 4.5: 408
 * after), and after the response is complete.
 */
export const BODY_TIMEOUT_MS = 60_000;
/** How long a visitor can go without reading while data is waiting (protocol.md section 4.5). */
export const STALL_TIMEOUT_MS = 60_000;
/**
 * How long a visitor that has closed its side of the connection can go without receiving anything before the relay considers it gone
 * (protocol.md section 4.5). Long enough for a slow response: until something is sent, a half-closed connection looks
 * the same as one that was closed.
 */
export const LEAVE_TIMEOUT_MS = 10_000;
/** How long a connection may stay open without a request. More than the usual 60 s of reverse proxies. */
export const IDLE_TIMEOUT_MS = 75_000;
/**
 * How long a visitor that was sent a complete response may be silent before its connection is closed. While it sends,
 * closing would take the response away from it.
 */
export const LINGER_TIMEOUT_MS = 2000;
/** How long a visitor may keep sending after it was sent a complete response; what it sends is thrown away. */
export const LINGER_MAX_MS = 30_000;
/**
 * How long a connection may be silent before TCP probes whether the peer is still reachable: a peer that lost its
 * network never reports it.
 */
export const KEEP_ALIVE_MS = 60_000;
/** How long a TLS handshake may take: a few round trips, on a slow network. */
export const TLS_HANDSHAKE_TIMEOUT_MS = 10_000;
/** How long a connection from a load balancer may take to send its PROXY protocol header. */
export const PROXY_HEADER_TIMEOUT_MS = 5000;
/**
 * Maximum size of a PROXY protocol header (version 2). The addresses need at most 232 bytes; the rest is for extensions
 * such as the certificate that a client has presented to the load balancer.
 */
export const PROXY_HEADER_MAX_BYTES = 4096;
/** How long the relay issues TLS session tickets with the same key. */
export const TICKET_KEY_MS = 24 * 3600_000;
/** How long a visitor can resume a TLS session without a full handshake. */
export const SESSION_SECONDS = 12 * 3600;
/** ms between two checks of the certificate and key files. */
export const TLS_RELOAD_MS = 5000;
/**
 * How long a response may continue after the access policy has stopped allowing its visitor: as long as at a shutdown,
 * to finish a download.
 */
export const BARRED_RESPONSE_MS = 30_000;
/** ms between two checks of the deadlines above. */
export const DEADLINE_TICK_MS = 500;

// ## Several relays as one

/** How long a relay waits for Redis at startup, so that a relay that reports that it listens is part of the cluster. */
export const CLUSTER_START_TIMEOUT_MS = 5000;
/** How long Redis may take to accept a connection or to respond: thousands of times the usual duration. */
export const REDIS_TIMEOUT_MS = 2000;
/** Longest pause before the next attempt to reach Redis, so that a restarted Redis is used again within 5 s. */
export const REDIS_RETRY_MAX_MS = 2000;
/**
 * How long a connection to Redis may be silent before TCP probes whether Redis is still reachable: nothing is sent on
 * the connection for messages.
 */
export const REDIS_KEEP_ALIVE_MS = 10_000;
/** ms between two checks for changes to publish to Redis. */
export const RENEWAL_TICK_MS = 500;
/** How long a cluster member is considered alive without renewing its lease: slightly more than three renewals. */
export const RELAY_LEASE_MS = 10_000;
/** Maximum number of relays with a different cluster secret that are remembered to avoid logging them twice. */
export const STRANGERS_MAX = 64;
/** ms between two renewals of that lease, so that two may fail. */
export const LEASE_RENEW_MS = 3000;
/**
 * Number of ids that a relay tries at startup before it fails because all of them are taken: there are 65,535, so all
 * tries fail only if something is very wrong.
 */
export const RELAY_NUMBER_ATTEMPTS = 20;
/** ms between two publications of every control socket to Redis. */
export const OWNERSHIP_REPEAT_MS = 5 * 60_000;
/** How long Redis keeps the entry for a control socket: three times the interval between two publications. */
export const OWNERSHIP_KEEP_MS = 15 * 60_000;
/** ms between two checks of how much time has passed. */
export const CHANGE_POLL_MS = 500;
/** How long the process can be suspended before other relays may have taken over its tunnels; far below the lease. */
export const CHANGE_LEAP_MS = 3000;
/** How long a relay that was suspended tries to find out which of its tunnels have moved. */
export const LEAP_CHECK_MS = 5000;
/** ms between two such attempts. */
export const LEAP_RETRY_MS = 100;
/**
 * How long a relay waits for another relay to report a client that has just connected to it: the client's first visitor
 * may arrive earlier.
 */
export const CLAIM_GRACE_MS = 1000;
/**
 * Delay before a relay asks another relay again about a client that has just opened a trunk: the client may have
 * connected a moment ago.
 */
export const CLAIM_LOOK_MS = 100;
/** Number of tunnels that are published to Redis in one command, which delays the commands of everyone else. */
export const OWNERSHIP_BATCH = 500;
/** ms between two reminders to other relays not to use data sockets that pass through a relay that is shutting down. */
export const LEAVING_REPEAT_MS = 500;
/** Maximum time to connect to another relay; relays are close to each other. */
export const HOP_CONNECT_TIMEOUT_MS = 2000;
/** How long another relay has to accept or refuse a data socket: it may have to look up the key in the store. */
export const HOP_RESPONSE_TIMEOUT_MS = 5000;
/** How long another relay has to authenticate its connection and to state the purpose of a stream on it. */
export const HOP_LINE_TIMEOUT_MS = 5000;
/**
 * Maximum size of the line in which another relay identifies the owner of a data socket: an id, and two keys of at most
 * a few hundred bytes each.
 */
export const HOP_LINE_MAX_BYTES = 4096;
/** ms between two checks of a trunk to another relay: it is closed if it was unused, and otherwise asked for a sign of life. */
export const HOP_IDLE_MS = 30_000;
/**
 * Maximum number of bytes of a stream in transit between two relays, in each direction: 250 MB/s at 1 ms, because
 * relays are close to each other.
 */
export const HOP_WINDOW_BYTES = 256 * 1024;
/**
 * Maximum number of data sockets that are waiting for another relay to accept or refuse them: thousands a second, but
 * at most as many as it has capacity for.
 */
export const HOPS_ASKED_MAX = 1024;
/** Number of tunnels that one query compares with the database. */
export const FOLLOW_BATCH = 500;
/** ms between two such queries while all tunnels are compared: 10,000 tunnels a second, a tenth of one connection. */
export const REVIEW_PAUSE_MS = 50;
/** Delay before a relay compares its tunnels with the database again after the database has failed. */
export const REVIEW_RETRY_MS = 1000;
/**
 * ms between two searches for expired tunnels that no relay is left to end. Longer than the store may be unreachable
 * without being noticed.
 */
export const SWEEP_INTERVAL_MS = 60_000;
/** Number of expired tunnels without a relay that are removed in one transaction. */
export const SWEEP_BATCH = 500;
/** How long the relay caches the fact that a slug is unused, unless another relay reports a tunnel there. */
export const LOOKUP_MISS_MS = 5000;
/** Maximum number of unused slugs that the relay caches: about 1 MB. */
export const LOOKUP_MISSES_MAX = 10_000;
/**
 * Maximum number of concurrent queries that look up slugs: if one is slow, others can still run, but on only some of
 * the connections.
 */
export const LOOKUPS_MAX = 4;
/**
 * Number of slugs that one query looks up. It takes a few ms, so thousands of waiting slugs are looked up within a
 * second.
 */
export const LOOKUP_BATCH = 500;
/**
 * Maximum number of slugs waiting for a lookup: about 20 MB, and several times the number of visitors that may be
 * connected.
 */
export const LOOKUPS_WAITING_MAX = 50_000;
/** How long another relay may take to report a tunnel's traffic: a tunnel in idle mode is not ended before that. */
export const IDLE_GRACE_MS = 500;
/** How long a relay remembers a tunnel that has ended: longer than any query may take. */
export const RECENT_MS = 30_000;

// ## Access to tunnels

/**
 * Number of passwords that are hashed at the same time: Node has four threads, which also look up names and read files.
 */
export const HASHES_AT_ONCE = 2;
/** Maximum number of one account's passwords that may wait to be hashed, including those for its tunnels; about 1 s. */
export const HASHES_WAITING_OF_ONE_MAX = 32;
/** Maximum number of passwords from all accounts that may wait to be hashed; accounts take turns. */
export const HASHES_WAITING_MAX = 1024;
/** Maximum number of valid access cookies that the relay caches; about 3 MB. Others cost a MAC each time. */
export const KNOWN_PASSES_MAX = 10_000;
/** Maximum number of correct passwords that the relay caches; about 1 MB. Others are hashed again. */
export const PASSED_PASSWORDS_MAX = 10_000;
/** Maximum number of wrong passwords and tokens that an IP address may send to a tunnel per minute, and in one burst. */
export const ACCESS_ATTEMPTS_PER_MINUTE = 10;
/**
 * Maximum number of wrong passwords, per minute and in one burst, that a tunnel checks for all unknown addresses
 * combined.
 */
export const TUNNEL_ATTEMPTS_PER_MINUTE = 60;
/** Maximum number of addresses that are remembered for having sent a correct password to any tunnel; about 2 MB. */
export const KNOWN_NETWORKS_MAX = 10_000;
/** Maximum number of signed links that a tunnel may have at the same time. */
export const LINKS_MAX = 256;
/**
 * Maximum number of a tunnel's signed links that were revoked before they expired: every relay knows them until then;
 * about 50 KB.
 */
export const REVOKED_LINKS_MAX = 1024;
/** How long before a visitor who has been given access is asked for credentials again. */
export const PASS_SECONDS = 12 * 3600;
/** How long the relay signs access cookies with the same key. */
export const PASS_KEY_MS = 7 * 24 * 3600_000;
/**
 * Delay before the relay asks the database for the next signing key again after a failure; the previous key is used
 * until then.
 */
export const STORE_RETRY_MS = 10_000;

// ## Approval requests

/** Maximum number of a tunnel's visitors that may be waiting for approval at the same time. */
export const APPROVALS_WAITING_MAX = 32;
/**
 * Maximum number of visitors from one address that may be waiting for approval, including those denied recently. An
 * IPv6 address counts as its /64.
 */
export const APPROVALS_PER_ADDRESS_MAX = 3;
/** Maximum number of denied visitors that the relay remembers per tunnel; the oldest is forgotten first. */
export const APPROVALS_REFUSED_MAX = 32;
/** Maximum number of visitors that may be approved for a tunnel at the same time. */
export const APPROVED_MAX = 100;
/**
 * How long the relay delays a response while it waits for the owner's decision: less than the timeouts of reverse
 * proxies.
 */
export const KNOCK_HOLD_MS = 25_000;
/** Maximum number of responses that the relay delays for one approval request: a few browser tabs. */
export const KNOCK_HOLDS_MAX = 4;
/**
 * Interval at which a waiting visitor's page checks again if too many of that visitor's responses are already delayed.
 */
export const KNOCK_LOOK_SECONDS = 5;
/** Number of attempts to store a change to an approval request when another relay stores one first. */
export const KNOCK_WRITE_ATTEMPTS = 5;

// ## Keys

/** ms between two writes of the last use of keys to the store: it is accurate to within a minute. */
export const KEY_USES_FLUSH_MS = 30_000;
/** ms until the first use of a key is written. */
export const KEY_FIRST_USE_MS = 1000;
/** ms after a noted use of a tunnel's token until the next one is noted. */
export const TOKEN_USE_MS = 60_000;
/** Longest lifetime that a key can be given. */
export const KEY_TTL_CEILING_SECONDS = 10 * 365 * 24 * 3600;
/** Maximum length of a key's label. */
export const KEY_LABEL_MAX_LENGTH = 100;
/** Longest lifetime, counted from now, that an agent's key can give a tunnel, a signed link or an approval. */
export const AGENT_MAX_TTL_SECONDS = 3600;
/** Maximum length of the prefix of an agent's names: the rest is for the names themselves. */
export const AGENT_PREFIX_MAX_LENGTH = 32;
/** Largest IPv4 network, in bits, that counts as access control for an agent's tunnel. Private networks can be larger. */
export const AGENT_ALLOW_MIN_BITS = 16;
/** Largest IPv6 network, in bits, that counts as access control for an agent's tunnel, unless it is private. */
export const AGENT_ALLOW_MIN_BITS_IPV6 = 32;

// ## DNS authority for challenges

/**
 * Maximum number of concurrent queries that look up other relays' challenges in the database; further requests from the
 * outside get no answer.
 */
export const CHALLENGE_LOOKUPS_MAX = 32;

/**
 * Maximum size of a DNS query: a name has at most 255 bytes, and everything else that resolvers send takes a few dozen.
 */
export const DNS_QUERY_MAX_BYTES = 512;
/**
 * Maximum size of a DNS response over UDP: larger ones are lost on networks that fragment them (the advice of
 * dnsflagday.net, 2020).
 */
export const DNS_UDP_MAX_BYTES = 1232;
/**
 * Maximum size of a DNS response over UDP relative to the size of its query, so that the relay cannot be used to flood
 * others.
 */
export const DNS_UDP_FACTOR = 4;
/**
 * Maximum number of DNS queries that a network may send per minute: a validation takes at most ten, from each of an
 * authority's networks.
 */
export const DNS_QUERIES_PER_MINUTE = 600;
/** Maximum number of DNS queries that a network may send in one burst. */
export const DNS_QUERIES_BURST = 100;
/** Maximum number of DNS queries waiting for the database and of DNS responses waiting for the network. */
export const DNS_WAITING_MAX = 1024;
/** How long challenges that were read from the database are cached. */
export const DNS_TEXTS_MS = 500;
/** Maximum number of DNS connections over TCP at each of the relay's addresses; the oldest is closed first. */
export const DNS_CONNECTIONS_MAX = 128;
/** Maximum number of DNS connections over TCP from one network; the oldest is closed first. */
export const DNS_CONNECTIONS_OF_ONE_MAX = 16;
/** ms until the next query on such a connection must be complete. */
export const DNS_CONNECTION_IDLE_MS = 5000;
/** How long a DNS server has to answer the first attempt. */
export const DNS_TRY_MS = 2000;
/** Maximum number of attempts per DNS query. */
export const DNS_TRIES = 2;
/** How long a DNS lookup may take in total, however many referrals it follows. */
export const DNS_ANSWER_MS = 8000;
/** Maximum number of DNS values that a domain check shows to the domain's owner; the DNS may have any number. */
export const DNS_SHOWN_MAX = 4;
/** Length to which a domain check truncates each DNS value that it shows. */
export const DNS_SHOWN_LENGTH = 100;

// ## Domains

/** Maximum number of concurrent domain checks requested by users; each takes six DNS queries. */
export const DOMAIN_LOOKS_MAX = 32;
/**
 * Maximum number of concurrent domain checks requested by one account; its calls per minute keep few of
 * them busy for long.
 */
export const DOMAIN_LOOKS_OF_ONE_MAX = 8;
/** Average number of domains that an account may add or check per minute. */
export const DOMAIN_CALLS_PER_MINUTE = 20;
/** Maximum number of domains that an account may add or check in one burst. */
export const DOMAIN_CALLS_BURST = 10;
/** ms between two checks of a verified domain. */
export const DOMAIN_CHECK_MS = 24 * 3600_000;
/**
 * Random variation in the interval between two checks of the same domain, so that domains that were verified together
 * are not always checked together.
 */
export const DOMAIN_CHECK_JITTER_MS = 2 * 3600_000;
/** How long the DNS records of a verified domain may be wrong before the domain is released. */
export const DOMAIN_GRACE_MS = 7 * 24 * 3600_000;
/** How long an unverified domain stays reserved for the account that added it. */
export const DOMAIN_CLAIM_MS = 30 * 24 * 3600_000;
/** ms between two searches for domains that are due for a check. */
export const DOMAIN_SWEEP_MS = 60_000;
/** Number of domains that a relay reserves for checking at a time: 70,000 a day. */
export const DOMAIN_SWEEP_BATCH = 50;
/** Number of reserved domains that a relay checks at the same time. */
export const DOMAIN_SWEEP_AT_ONCE = 8;
/**
 * How long a domain that a relay has reserved for checking stays reserved if no result is reported: the relay that
 * reserved it has died.
 */
export const DOMAIN_SWEEP_LEASE_MS = 3600_000;
/** Number of domains that one query reads from the database; all of them are in memory, about 200 bytes each. */
export const DOMAINS_BATCH = 1000;
/** Delay before the relay reads the list of domains again after the database has failed. */
export const DOMAIN_RETRY_MS = 1000;
/** How long the relay caches its own IP addresses, which are shown as records for some domains. */
export const OWN_ADDRESSES_MS = 5 * 60_000;

// ## Administration

/** How long the relay remembers that an operator closed a tunnel: a relay learns of it within a second. */
export const CLOSED_TUNNELS_KEPT_MS = 3_600_000;
/**
 * Number of recent admin actions that are kept regardless of their age; also the most that can be listed in one
 * request.
 */
export const AUDIT_MAX = 10_000;
/** How long every admin action is kept, however many follow it: long enough for a yearly review. */
export const AUDIT_KEPT_MS = 365 * 24 * 3_600_000;
/**
 * Maximum number of admin actions that one account's keys can add to the audit log in 24 hours. An action that cannot
 * be recorded is refused, unless it only ends a right, so nobody can push an entry out. A year of them takes about 300 MB.
 */
export const AUDIT_ACTS_PER_DAY = 2000;
/**
 * Maximum number of changes that one key can make in 24 hours to tunnels that other keys of its account have created,
 * because each is recorded. The rest of the account's share stays for its owners.
 */
export const MEMBER_ACTS_PER_DAY = 200;
/** Maximum number of people that an owner can invite in one request. */
export const TEAM_INVITES_AT_ONCE_MAX = 100;
/** How long the relay remembers that a verified domain was removed, in case an older backup is restored. */
export const ENDED_DOMAIN_KEPT_MS = 400 * 24 * 3_600_000;
/** Maximum number of removed verified domains that the relay remembers per account. */
export const ENDED_DOMAINS_MAX = 1000;
/**
 * Minimum time that the relay remembers the end of a tunnel that another client took over: it may have had a
 * longer life before.
 */
export const ENDED_TAKEN_OVER_KEPT_MS = 30 * 24 * 3_600_000;
/** Maximum length of the reason for a suspension. */
export const REASON_MAX_LENGTH = 200;
/** Maximum number of accounts that one command can create. */
export const ACCOUNTS_AT_ONCE_MAX = 1000;
/** Maximum number of times per minute that an IP address may open or accept an invitation that is not valid. */
export const INVITE_TRIES_PER_MINUTE = 30;
/** Longest lifetime of an invitation. */
export const INVITE_TTL_CEILING_SECONDS = 90 * 24 * 3600;
/** Maximum number of invitations that one command can create. */
export const INVITES_AT_ONCE_MAX = 1000;

// ## `culvert-relay doctor`

/** How long each check of `culvert-relay doctor` may take. */
export const DIAGNOSIS_CHECK_MS = 15_000;
/** How long a check of `culvert-relay doctor` waits for a response. */
export const DIAGNOSIS_ANSWER_MS = 10_000;
/**
 * Maximum number of characters that a check of `culvert-relay doctor` reads from a response; the description of the API
 * has about 150,000.
 */
export const DIAGNOSIS_ANSWER_MAX_BYTES = 1024 * 1024;
/**
 * How long the first part of a response may take to arrive while the second part is held back (the check for buffering
 * proxies).
 */
export const DIAGNOSIS_PIECE_MS = 3000;
/** Maximum of `--idle`, so that diagnostics end in reasonable time. */
export const DIAGNOSIS_IDLE_MAX_SECONDS = 30 * 60;
/**
 * Age above which `culvert-relay doctor` removes a test account that an earlier run left behind: longer than they run.
 */
export const DIAGNOSIS_LEFTOVER_MS = 3_600_000;
/** Accepted difference between the clocks of two machines: cluster members and proofs allow for that much. */
export const DIAGNOSIS_CLOCK_OFF_MS = 10_000;
/** Age above which a database backup is considered old. */
export const BACKUP_OLD_MS = 7 * 24 * 3_600_000;
/** If a certificate expires sooner than this, it should already have been renewed. */
export const CERTIFICATE_ENDING_MS = 14 * 24 * 3_600_000;

// ## Certificates

/** Maximum size of a certificate authority's response: a chain has about 6 KB. */
export const ACME_ANSWER_MAX_BYTES = 128 * 1024;
/** How long a certificate authority's response may take to arrive in full. */
export const ACME_REQUEST_TIMEOUT_MS = 20_000;
/** Longest `Retry-After` from a certificate authority that the relay respects. */
export const ACME_RETRY_AFTER_MAX_MS = 24 * 3_600_000;
/** Maximum number of a certificate authority's nonces that the relay keeps for later requests. */
export const ACME_NONCES_MAX = 16;
/** Maximum number of times that a request is repeated because the certificate authority rejected its nonce. */
export const ACME_NONCE_RETRIES = 8;
/** How long the relay works on an ACME order before it gives up and may start another one. */
export const ACME_ORDER_TIMEOUT_MS = 120_000;
/** Maximum number of certificates in a certificate chain. */
export const ACME_CHAIN_MAX = 10;
/** Delay before a failed ACME order is retried; doubled for each failure in a row. Authorities allow five an hour. */
export const ORDER_RETRY_MS = 180_000;
/** Longest delay before a failed ACME order is retried. */
export const ORDER_RETRY_MAX_MS = 12 * 3_600_000;
/** Pause before the next request to a certificate authority that failed; doubled for each failure in a row. */
export const AUTHORITY_RETRY_MS = 10_000;
/** Longest pause before the next request to a certificate authority that failed. */
export const AUTHORITY_RETRY_MAX_MS = 3_600_000;
/** Number of ACME orders that a relay processes at the same time. */
export const ORDERS_AT_ONCE = 32;
/** Maximum number of ACME orders per hour, unless the operator sets a different number. */
export const ORDERS_PER_HOUR = 20;
/** Highest number of ACME orders per hour that the operator can set. Let's Encrypt allows 300 in three hours. */
export const ORDERS_PER_HOUR_CEILING = 1000;
/**
 * Maximum number of names that the relay remembers because ordering a certificate for them would currently fail; about
 * 2 MB.
 */
export const REFUSED_NAMES_MAX = 10_000;
/**
 * Maximum number of certificates that are kept in memory for TLS handshakes; about 70 MB. Others are read from the
 * store again.
 */
export const CONTEXTS_MAX = 2000;
/** Maximum number of certificates that are read from the database at the same time; further handshakes get none. */
export const CERTIFICATE_READS_MAX = 256;
/** Maximum number of TLS handshakes that may wait for ACME orders. */
export const CERTIFICATE_WAITS_MAX = 512;
/** Maximum number of TLS handshakes that may wait for the same name's ACME order. */
export const CERTIFICATE_WAITS_PER_NAME_MAX = 32;
/**
 * Maximum number of TLS handshakes that may wait for one account's ACME orders, so that an owner of many names cannot
 * take the places of other people's visitors.
 */
export const CERTIFICATE_WAITS_PER_ACCOUNT_MAX = 64;
/** How long a TLS handshake waits for an ACME order: as long as browsers do. */
export const CERTIFICATE_WAIT_MS = 30_000;
/** Maximum number of concurrent connections to the plain HTTP port; the oldest unfinished one is closed first. */
export const HTTP_PORT_CONNECTIONS_MAX = 1024;
/** Maximum number of them from one IP address. An IPv6 address counts as its /64. */
export const HTTP_PORT_ADDRESS_CONNECTIONS_MAX = 32;
/** Maximum size of a request's headers on the plain HTTP port. */
export const HTTP_PORT_HEAD_MAX_BYTES = 8 * 1024;
/** How long a request on the plain HTTP port may take to arrive, or its response to be read. */
export const HTTP_PORT_REQUEST_MS = 10_000;
/** How long a connection to the plain HTTP port waits for another request. */
export const HTTP_PORT_IDLE_MS = 5000;
/** Maximum number of requests per connection to the plain HTTP port. */
export const HTTP_PORT_REQUESTS_MAX = 100;
/** Maximum number of domains whose DNS delegation the relay caches; about 2 MB. */
export const DELEGATIONS_KNOWN_MAX = 10_000;
/** How long a visitor's TLS handshake may wait while the relay looks up a domain's DNS delegation. */
export const DELEGATION_LOOKUP_MS = 5000;
