/**
 * Limits on what the relay stores, waits for and accepts, each with its reason. The limits of the protocol itself are
 * in `shared/`. A number that nobody outside can exhaust or wait for (the length of a key, how often the relay checks
 * its own state) is defined where it is used.
 */

// ## API

/** Bytes of a request body (protocol.md section 2.2: 413 above). A create request needs a few hundred. */
export const BODY_MAX_BYTES = 16 * 1024;

/**
 * Unknown keys that an address may present in a minute, and in one burst. Keys cannot be guessed, but each try costs a
 * query.
 */
export const WRONG_KEYS_PER_MINUTE = 30;
/**
 * Keys remembered as valid; about 1 MB. Beyond that, the least recently used one is forgotten and has to be looked up
 * again.
 */
export const KNOWN_KEYS_MAX = 10_000;
/** Create requests an account may make per minute in the long run (protocol.md section 3.2). */
export const CREATES_PER_MINUTE = 10;
/** Create requests an account may make in one burst (protocol.md section 3.2). */
export const CREATE_BURST = 5;

/** Share of the event loop that the API may use while visitors need it; visitors keep three quarters. */
export const API_LOOP_SHARE = 0.25;
/** ms of the event loop that the API may use in one burst: a few requests. */
export const API_LOOP_BURST_MS = 1;
/**
 * How much longer a request of the API occupies the event loop in total, including its head and response, than from
 * its scheduled start to its first wait for the store. Measured: 1.3 for requests that need no store, up to 3 for
 * those that do.
 */
export const API_COST_FACTOR = 3;
/** ms after visitors last had work for the event loop during which they still count as needing it. */
export const VISITORS_RECENT_MS = 20;
/** API writes in progress in the store at the same time: enough to keep it busy, few enough to finish soon. */
export const API_WRITES_MAX = 8;
/** API writes of one account in progress at the same time. */
export const ACCOUNT_WRITES_MAX = 2;

/** Tunnels of a list that are serialized without yielding: this takes about as long as another request. */
export const LIST_BATCH = 50;

// ## Tunnels and the store

/**
 * ms between two flushes of traffic counters. With the time a flush takes, a crash loses at most the last second
 * (protocol.md section 3.3).
 */
export const FLUSH_INTERVAL_MS = 900;
/**
 * In idle mode, traffic is stored immediately if the tunnel's stored end is at most this many ms away and other relays
 * read the store: longer than they would otherwise have to wait for it.
 */
export const FLUSH_URGENT_MS = 2000;
/** ms from such traffic to its flush, which also includes other traffic of that time. */
export const FLUSH_SOON_MS = 50;
/** Tunnels whose counters are stored in one transaction. A larger one would delay visitors while it runs. */
export const FLUSH_BATCH = 200;

/** ms a statement waits for another process that writes to the same SQLite file before it fails. */
export const SQLITE_BUSY_MS = 2000;
/** ms between two tries of such a statement. */
export const SQLITE_RETRY_MS = 10;

/**
 * Operations that wait for the thread of an embedded database; further ones are refused with 503. The thread handles
 * about 20,000 a second.
 */
export const STORE_CALLS_MAX = 5000;
/** ms after which that thread counts as stuck, including anything it may itself wait for. */
export const STORE_ANSWER_TIMEOUT_MS = 10_000;
/** ms until a lost thread is started again. */
export const STORE_THREAD_RETRY_MS = 1000;

/** Open connections to PostgreSQL. A server accepts 100 by default, and statements are short. */
export const POSTGRES_CONNECTIONS_MAX = 10;
/** Operations that wait for one of those connections; further ones are refused with 503. */
export const POSTGRES_WAITING_MAX = 1000;
/** ms to connect, or to get a connection that is in use. */
export const POSTGRES_CONNECT_TIMEOUT_MS = 2000;
/** ms a statement waits for a row that another relay has locked. */
export const POSTGRES_LOCK_TIMEOUT_MS = 2000;
/** ms after which the server cancels a statement, or a transaction in which nothing happens. */
export const POSTGRES_STATEMENT_TIMEOUT_MS = 4000;
/** ms after which a server that does not do even that counts as unreachable. */
export const POSTGRES_QUERY_TIMEOUT_MS = 5000;
/** ms that one database migration may take, including the wait for other relays that run it. */
export const POSTGRES_MIGRATION_TIMEOUT_MS = 600_000;
/** ms without a new attempt after a connection has failed; doubled for each failure in a row. */
export const POSTGRES_RETRY_BASE_MS = 100;
/** The longest such pause, in ms: a server that is back is noticed within a second. */
export const POSTGRES_RETRY_CAP_MS = 1000;
/** ms a relay waits at its start for another relay on the same database that is about to exit. */
export const POSTGRES_RELAY_LOCK_WAIT_MS = 2000;
/** ms between two attempts to get the lock that gives a relay exclusive use of a database. */
export const POSTGRES_RELAY_LOCK_RETRY_MS = 500;
/** ms that closing the connections cleanly may take. */
export const POSTGRES_CLOSE_TIMEOUT_MS = 2000;

/**
 * Rows copied to another database in one statement. PostgreSQL accepts 65,535 values in a statement, and a tunnel has
 * 12.
 */
export const TRANSFER_BATCH = 1000;

/** Tunnels that are read in one query when a relay starts. */
export const LOAD_BATCH = 500;

/** Seconds a client is told to wait while the store cannot be reached. */
export const STORE_RETRY_AFTER_SECONDS = 1;

/**
 * ms after its stored end until a tunnel that no relay has ended gives up its slug: longer than the clock difference
 * between relays, and longer than it takes to store traffic that prolongs a tunnel.
 */
export const EXPIRED_GRACE_MS = 60_000;

/** Slugs drawn for one tunnel before giving up; with 50 random bits a second draw is already extremely rare. */
export const SLUG_ATTEMPTS = 5;

// ## Log and metrics

/** Bytes of log lines that wait for a slow reader; several thousand lines. */
export const LOG_BUFFER_MAX_BYTES = 1024 * 1024;
/** ms that writing the last log lines may take at exit: a stalled reader must not keep the program running. */
export const LOG_CLOSE_TIMEOUT_MS = 1000;
/** ms after which a store operation is reported as slow: a hundred times what a commit to a disk takes. */
export const STORE_SLOW_MS = 500;
/** ms that the event loop may be blocked before it is reported; visitors notice less. */
export const LOOP_STALL_MS = 1000;
/** ms between two log lines that report the same thing as slow. */
export const LOG_REPEAT_MS = 10_000;
/** ms the store has to answer a readiness probe; the prober itself waits a few seconds. */
export const READY_TIMEOUT_MS = 2000;
/** Connections to `/metrics`: one for each Prometheus, and some for people. */
export const METRICS_CONNECTIONS_MAX = 16;
/** ms a request for `/metrics` may take to arrive. */
export const METRICS_REQUEST_TIMEOUT_MS = 5000;

// ## Start, shutdown and handoff

/** ms open connections get to finish after the first SIGTERM (protocol.md section 7). */
export const STOP_DEADLINE_MS = 30_000;
/** ms for a request that was on its way at SIGTERM to arrive on an idle connection: more than a round trip. */
export const DRAIN_IDLE_MS = 1000;
/** ms a relay that shuts down waits for a quiet moment to close its listener, even if connections still arrive. */
export const DRAIN_BACKLOG_MS = 5000;
/** Longest duration, in ms, of an iteration of the event loop that counts as quiet. */
export const QUIET_TURN_MS = 0.2;
/** ms of waiting after which an iteration twice as long also counts as quiet: a busy relay has no quieter one. */
export const QUIET_DOUBLING_MS = 500;
/**
 * ms clients have to move to another relay before this one drops them: twice the period over which they are spread,
 * and time for a few attempts.
 */
export const DRAIN_MOVE_MS = 5000;
/**
 * During shutdown, ms between two checks for visitors that still wait for data sockets and clients that are still
 * connected.
 */
export const DRAIN_LOOK_MS = 20;
/** ms to notify the service manager that the relay serves. */
export const NOTIFY_TIMEOUT_MS = 5000;
/** ms for a relay that was started with `--detach` to begin serving. */
export const DETACHED_START_MS = 120_000;
/** ms that the two relays of a handoff wait for each other's next step. */
export const HANDOFF_STEP_MS = 10_000;
/** ms for the new relay to load what it needs while the old one serves: the database may have to be migrated. */
export const HANDOFF_READY_MS = 60_000;
/** ms the body of a request to the API may take to arrive while a handoff waits for it. */
export const HANDOFF_SETTLE_MS = 2000;
/** ms for the first line on the connection between the two relays. */
export const HANDOFF_HELLO_MS = 5000;
/** Bytes of a message between the two relays: the clients of 100,000 tunnels. */
export const HANDOFF_LINE_MAX_BYTES = 16 * 1024 * 1024;
/** Unread messages between the two relays. */
export const SUCCESSION_WAITING_MAX = 64;
/** ms a relay that was replaced keeps a connection without a request. */
export const REPLACED_IDLE_MS = 10_000;
/** ms until the next try after a connection to the new relay was refused because its accept queue was full. */
export const HANDOFF_RETRY_MS = 20;

// ## Largest values of settings

/**
 * Maximum of `CULVERT_MAX_TTL` in seconds: ten years. Keeps every expiry within what JavaScript dates can represent.
 */
export const TTL_CEILING_SECONDS = 10 * 365 * 24 * 3600;

/** Maximum of `CULVERT_NAME_HOLD` in seconds: a year. Each ended tunnel occupies a row in the store for that time. */
export const NAME_HOLD_CEILING_SECONDS = 365 * 24 * 3600;

/**
 * Maximum of `CULVERT_MAX_CONNECTIONS` and `CULVERT_ADDRESS_CONNECTIONS`: by default no process may have more file
 * descriptors than that, and each visitor uses up to two.
 */
export const CONNECTIONS_CEILING = 500_000;
/** Maximum of `CULVERT_ADDRESS_REQUESTS`, per second: a relay serves fewer, so a higher value would not be a limit. */
export const ADDRESS_REQUESTS_CEILING = 100_000;

// ## Changed keys, and memory

/** ms between two checks for changed keys and accounts; the relay must act on a change within 1 s. */
export const ACCESS_POLL_MS = 300;
/** Keys or accounts read in one query. SQLite accepts 32,766 values in a statement. */
export const ACCESS_BATCH = 500;

/**
 * How much V8's old generation may grow before it is collected, in % of what was in use after the last collection.
 * Measured: V8's own choice, up to 300, takes as much CPU.
 */
export const OLD_GENERATION_GROWTH_PERCENT = 100;

// ## Connections of visitors

/** Visitors' connections; the default of a setting. Each may cost about 170 KiB in the worst case. */
export const CONNECTIONS_MAX = 10_000;
/**
 * Connections without a slot: those that have not sent a request yet, and those that only the relay itself has
 * responded to. More than a full accept queue, so that a burst of visitors is accepted.
 */
export const NEWCOMERS_MAX = 8192;
/**
 * Slots that requests to an account's tunnels may hold for each slot that is left for other accounts. So the first
 * account gets at most three quarters, and the next one three quarters of the rest, even if their plans are unlimited.
 */
export const ACCOUNT_SHARE = 3;
/**
 * Connections of one visitor address; the default of a setting. A browser opens six to a host, so about forty people
 * can share an address.
 */
export const ADDRESS_CONNECTIONS_MAX = 256;
/**
 * Seconds' worth of requests that an address may make in one burst if its rate is limited (protocol.md section
 * 4.6).
 */
export const ADDRESS_BURST_SECONDS = 10;
/** Buckets that a rate limiter keeps; about 10 MB. Beyond that, the least recently used one is forgotten. */
export const RATE_BUCKETS_MAX = 100_000;

// ## Clients

/** Control and data sockets, about 7 KB each; fewer than the file descriptors that systems allow a process. */
export const CLIENT_SOCKETS_MAX = 100_000;
/** Visitors of one tunnel that wait for its client, announced or not yet. The client accepts at most as many. */
export const WAITING_MAX = 4096;

/** ms visitors wait for a client that has just disconnected (protocol.md section 4.2). */
export const HOLD_OVER_MS = 10_000;
/**
 * ms for a client that seems to be gone to show a sign of life on each of its data sockets. Long, because a ping waits
 * behind what was sent before; including the second until the relay checks, visitors still get a response within 10 s.
 */
export const LIFE_SIGN_MS = 8000;
/** Trunks a client may have per tunnel (protocol.md section 10); the default of a setting. */
export const TRUNKS_MAX = 2;
/** Maximum of `CULVERT_TRUNKS`: a lost packet stalls one trunk, and more than a few make no difference. */
export const TRUNKS_CEILING = 16;
/**
 * ms after which a trunk without a visitor is closed. The relay closes it, because only the relay knows that no
 * visitor is on the way.
 */
export const TRUNK_IDLE_MS = 60_000;
/**
 * ms of silence on a trunk with unanswered data after which the client is asked for a sign of life and gets no new
 * visitors on that trunk until it answers. A local service may need longer to respond; the client itself answers.
 */
export const TRUNK_DOUBT_MS = 2000;
/**
 * Round-trip time in ms above which a client counts as far away: a window of 64 KiB per stream is little above it and
 * plenty below.
 */
export const FAR_PATH_MS = 5;
/**
 * Measurements, a second apart, before a slow client counts as far away: one that is busy or has just been started
 * takes longer to answer.
 */
export const PATH_PINGS_MAX = 10;
/**
 * Bytes in one direction, without any in the other, after which a stream to a client far away moves to a connection of
 * its own: more than a page.
 */
export const LARGE_FROM_FAR_BYTES = 128 * 1024;
/**
 * The same for a nearby client, where only very large transfers gain anything: more than the system buffers for a
 * visitor that reads nothing, which is better served on a trunk.
 */
export const LARGE_BYTES = 8 * 1024 * 1024;
/**
 * Minimum time in ms for a client to answer the end of a stream, which waits behind what was sent before
 * (protocol.md section 10.2).
 */
export const TRUNK_ANSWER_MS = 60_000;
/**
 * ms a client has to accept 16 KiB more of what precedes the end of a stream, or all of it: as long as for what
 * precedes the Close frame of a data socket.
 */
export const TRUNK_FLUSH_MS = 60_000;
/** Trunks of earlier control sockets that may still carry visitors of a tunnel; the oldest is closed first. */
export const RETIRED_TRUNKS_MAX = 8;
/** Bytes of announcements queued for a client that reads nothing; about ten thousand announcements. */
export const CONTROL_BUFFER_MAX_BYTES = 1024 * 1024;
/**
 * ms a client has to answer the Close frame of its control socket. Until then, a tunnel keeps at most one replaced
 * control socket.
 */
export const CONTROL_CLOSE_TIMEOUT_MS = 5000;

// ## Requests of visitors

/**
 * Seconds until a browser is shown the warning page of a tunnel on the free plan again: longer than nearly all of
 * those tunnels exist.
 */
export const NOTICE_COOKIE_SECONDS = 30 * 24 * 3600;

/** Bytes of a request head (protocol.md section 4.5: 431 above). */
export const REQUEST_HEAD_MAX_BYTES = 16 * 1024;
/** Field lines of a request head (protocol.md section 4.5: 431 above). */
export const REQUEST_FIELDS_MAX = 200;
/** Bytes of a request target (protocol.md section 4.5: 414 above). */
export const REQUEST_TARGET_MAX_BYTES = 8 * 1024;
/**
 * Bytes of a response head of a local service. Generous, because cookies and policies of development servers grow
 * large.
 */
export const RESPONSE_HEAD_MAX_BYTES = 64 * 1024;
/** Field lines of a response head. One policy field of each kind is about fifty; browsers keep 180 cookies per site. */
export const RESPONSE_FIELDS_MAX = 500;
/** Informational responses (1xx) in a row before a final one. Servers send one or two, and Go's client accepts five. */
export const INFORMATIONAL_RESPONSES_MAX = 64;
/** Values of `Host` whose meaning the relay remembers, in each of two generations; visitors send few different ones. */
export const REMEMBERED_HOSTS_MAX = 512;
/**
 * Connections that the system queues until the relay accepts them. Beyond that, a connection waits a second for its
 * next attempt.
 */
export const LISTEN_BACKLOG = 1024;
/** Bytes of a visitor that wait for the scheduler before its connection is paused. */
export const BACKLOG_MAX_BYTES = 64 * 1024;

/** ms a request head may take from its first byte (protocol.md section 4.5: 408 after). */
export const HEAD_TIMEOUT_MS = 15_000;
/** ms of silence within an unfinished request body (protocol.md section 4.5: 408 after). */
export const BODY_TIMEOUT_MS = 60_000;
/** ms a visitor may accept no byte while bytes wait for it (protocol.md section 4.5). */
export const STALL_TIMEOUT_MS = 60_000;
/**
 * ms without a byte sent after which a visitor that has closed its side counts as gone (protocol.md section 4.5).
 * Long enough for a slow response: until something is sent, a half-closed connection looks the same as one that was
 * closed.
 */
export const LEAVE_TIMEOUT_MS = 10_000;
/** ms a connection may stay open without a request. More than the usual 60 s of reverse proxies. */
export const IDLE_TIMEOUT_MS = 75_000;
/**
 * ms a visitor may continue sending after its response before its connection is cut: if cut immediately, it would lose
 * the response.
 */
export const LINGER_TIMEOUT_MS = 2000;
/**
 * ms of silence after which TCP probes whether the peer is still reachable: a peer that lost its network never reports
 * it.
 */
export const KEEP_ALIVE_MS = 60_000;
/** ms a TLS handshake may take: a few round trips, on a slow network. */
export const TLS_HANDSHAKE_TIMEOUT_MS = 10_000;
/** ms that one key is used for new session tickets. */
export const TICKET_KEY_MS = 24 * 3600_000;
/** Seconds that a visitor can resume its TLS session without a full handshake. */
export const SESSION_SECONDS = 12 * 3600;
/** ms between two checks of the certificate and key files. */
export const TLS_RELOAD_MS = 5000;
/**
 * ms until a response is cut if the access policy no longer allows its visitor: as long as at a shutdown, to finish a
 * download.
 */
export const BARRED_RESPONSE_MS = 30_000;
/** ms between two checks of the deadlines above. */
export const DEADLINE_TICK_MS = 500;

// ## Several relays as one

/** ms that a start waits for Redis, so that a relay that reports that it listens is part of the cluster. */
export const CLUSTER_START_TIMEOUT_MS = 5000;
/** ms Redis has to connect and to answer: thousands of times the usual duration. */
export const REDIS_TIMEOUT_MS = 2000;
/** Longest time in ms between two attempts to reach Redis, so that a restarted Redis is used again within 5 s. */
export const REDIS_RETRY_MAX_MS = 2000;
/**
 * ms of silence after which TCP probes whether Redis is still reachable: nothing is sent on the connection for
 * messages.
 */
export const REDIS_KEEP_ALIVE_MS = 10_000;
/** ms between two checks for changes to publish to Redis. */
export const RENEWAL_TICK_MS = 500;
/** ms that a cluster member counts as alive without renewing its lease: slightly more than three renewals. */
export const RELAY_LEASE_MS = 10_000;
/** Relays with a different secret that the log names once and does not repeat. */
export const STRANGERS_MAX = 64;
/** ms between two renewals of that lease, so that two may fail. */
export const LEASE_RENEW_MS = 3000;
/**
 * Numbers that a relay tries if some are taken: there are 65,535, so all tries fail only if something is very wrong.
 */
export const RELAY_NUMBER_ATTEMPTS = 20;
/** ms after which every control socket is published to Redis again. */
export const OWNERSHIP_REPEAT_MS = 5 * 60_000;
/** ms that Redis keeps a published control socket: three times as long. */
export const OWNERSHIP_KEEP_MS = 15 * 60_000;
/** ms between two checks of how much time has passed. */
export const CHANGE_POLL_MS = 500;
/** ms that the process may be suspended before other relays may have taken over its tunnels; far below the lease. */
export const CHANGE_LEAP_MS = 3000;
/** ms that a relay that was suspended tries to find out what has moved. */
export const LEAP_CHECK_MS = 5000;
/** ms between two such attempts. */
export const LEAP_RETRY_MS = 100;
/**
 * ms for another relay to report a client that has just connected to it: the client's first visitor may arrive
 * earlier.
 */
export const CLAIM_GRACE_MS = 1000;
/** ms before another relay is asked a second time for a client that opens a trunk, for the same reason. */
export const CLAIM_LOOK_MS = 100;
/** Tunnels published to Redis in one command, which delays the commands of everyone else. */
export const OWNERSHIP_BATCH = 500;
/** ms after which other relays are again asked not to use data sockets that pass through a relay that shuts down. */
export const LEAVING_REPEAT_MS = 500;
/** ms to connect to another relay; relays are close to each other. */
export const HOP_CONNECT_TIMEOUT_MS = 2000;
/** ms for another relay to accept or refuse a data socket: it may have to look up the key in the store. */
export const HOP_RESPONSE_TIMEOUT_MS = 5000;
/** ms for an inbound connection from another relay to prove its origin, and for a stream on it to say what it is for. */
export const HOP_LINE_TIMEOUT_MS = 5000;
/** Bytes that identify the owner of a data socket: an id, and two keys of at most a few hundred bytes each. */
export const HOP_LINE_MAX_BYTES = 4096;
/** ms between two checks of a trunk to another relay: it is closed if it was unused, and otherwise asked for a sign of life. */
export const HOP_IDLE_MS = 30_000;
/** Bytes of a stream between two relays in transit in one direction: 250 MB/s at 1 ms, as relays are close to each other. */
export const HOP_WINDOW_BYTES = 256 * 1024;
/**
 * Data sockets that each other relay has not yet accepted or refused: thousands a second, but at most as many as it has
 * capacity for.
 */
export const HOPS_ASKED_MAX = 1024;
/** Tunnels compared with the store in one query. */
export const FOLLOW_BATCH = 500;
/** ms between two such queries while all tunnels are compared: 10,000 tunnels a second, a tenth of one connection. */
export const REVIEW_PAUSE_MS = 50;
/** ms until the comparison starts again after the store has failed. */
export const REVIEW_RETRY_MS = 1000;
/**
 * ms between two searches for expired tunnels that no relay is left to end. Longer than the store may be unreachable
 * without being noticed.
 */
export const SWEEP_INTERVAL_MS = 60_000;
/** Such tunnels that are removed in one transaction. */
export const SWEEP_BATCH = 500;
/** ms that the relay remembers that no tunnel has a slug, unless told otherwise. */
export const LOOKUP_MISS_MS = 5000;
/** Slugs remembered as unused: about 1 MB. */
export const LOOKUP_MISSES_MAX = 10_000;
/** Concurrent queries for slugs: if one is slow, others can still run, but on only some of the connections. */
export const LOOKUPS_MAX = 4;
/** Slugs per query. A query takes a few ms, so thousands of waiting slugs are looked up within a second. */
export const LOOKUP_BATCH = 500;
/** Slugs that wait for a lookup: about 20 MB, and several times the number of visitors that may be connected. */
export const LOOKUPS_WAITING_MAX = 50_000;
/** Delay in ms with which another relay may report traffic: a tunnel in idle mode is not ended before that. */
export const IDLE_GRACE_MS = 500;
/** ms that an ended tunnel is remembered: longer than any query may take. */
export const RECENT_MS = 30_000;

// ## Access to tunnels

/** Passwords hashed at the same time: Node has four threads, which also look up names and read files. */
export const HASHES_AT_ONCE = 2;
/** Passwords of one account, at its tunnels or set by the account itself, that may wait to be hashed; about 1 s. */
export const HASHES_WAITING_OF_ONE_MAX = 32;
/** Waiting passwords of all accounts; accounts take turns. */
export const HASHES_WAITING_MAX = 1024;
/** Valid access cookies that are remembered; about 3 MB. Others cost a MAC each time. */
export const KNOWN_PASSES_MAX = 10_000;
/** Correct passwords that are remembered; about 1 MB. Others are hashed again. */
export const PASSED_PASSWORDS_MAX = 10_000;
/** Wrong passwords that an address may try at a tunnel in a minute, and in one burst. */
export const ACCESS_ATTEMPTS_PER_MINUTE = 10;
/** Wrong passwords from all unknown addresses together that a tunnel checks in a minute, and in one burst. */
export const TUNNEL_ATTEMPTS_PER_MINUTE = 60;
/** Addresses known to have used a correct password, for all tunnels together; about 2 MB. */
export const KNOWN_NETWORKS_MAX = 10_000;
/** Signed links of a tunnel that exist at the same time. */
export const LINKS_MAX = 256;
/** Links of a tunnel that were revoked before their end: every relay knows them until then; about 50 KB. */
export const REVOKED_LINKS_MAX = 1024;
/** Seconds until a visitor who has access is asked for credentials again. */
export const PASS_SECONDS = 12 * 3600;
/** ms that one key is used for new access cookies. */
export const PASS_KEY_MS = 7 * 24 * 3600_000;
/** ms after which a store that failed is asked for the next key again; the previous key is used until then. */
export const STORE_RETRY_MS = 10_000;

// ## Approval requests

/** Visitors of a tunnel that wait for approval. */
export const APPROVALS_WAITING_MAX = 32;
/** Waiting visitors from one address (a /64 for IPv6), including those denied recently. */
export const APPROVALS_PER_ADDRESS_MAX = 3;
/** Denied visitors of a tunnel that are remembered; the oldest is forgotten first. */
export const APPROVALS_REFUSED_MAX = 32;
/** Approved visitors of a tunnel at the same time. */
export const APPROVED_MAX = 100;
/** ms that a response is held back until the owner has decided: less than the timeouts of reverse proxies. */
export const KNOCK_HOLD_MS = 25_000;
/** Responses held back for one approval request: a few browser tabs. */
export const KNOCK_HOLDS_MAX = 4;
/** Seconds after which the page of a visitor with more than that checks again. */
export const KNOCK_LOOK_SECONDS = 5;
/** Attempts to write a change when another relay was faster. */
export const KNOCK_WRITE_ATTEMPTS = 5;

// ## Keys

/** ms between two writes of the last use of keys to the store: it is accurate to within a minute. */
export const KEY_USES_FLUSH_MS = 30_000;
/** Longest life in seconds of a key that expires. */
export const KEY_TTL_CEILING_SECONDS = 10 * 365 * 24 * 3600;
/** Characters of a key's label. */
export const KEY_LABEL_MAX_LENGTH = 100;

// ## DNS authority for challenges

/**
 * Concurrent queries to the store for the challenges of other relays; further requests from the outside get no answer.
 */
export const CHALLENGE_LOOKUPS_MAX = 32;

/** Bytes of a DNS query: a name has at most 255, and everything else that resolvers send takes a few dozen. */
export const DNS_QUERY_MAX_BYTES = 512;
/**
 * Bytes of a DNS response over UDP: larger ones are lost on networks that fragment them (the advice of dnsflagday.net,
 * 2020).
 */
export const DNS_UDP_MAX_BYTES = 1232;
/** Maximum ratio of a DNS response over UDP to its query, so that the relay cannot be used to flood others. */
export const DNS_UDP_FACTOR = 4;
/**
 * DNS queries that a network may send per minute: a validation takes at most ten, from each of an authority's
 * networks.
 */
export const DNS_QUERIES_PER_MINUTE = 600;
/** DNS queries that a network may send in one burst. */
export const DNS_QUERIES_BURST = 100;
/** DNS queries that wait for the store, and responses that wait for the network. */
export const DNS_WAITING_MAX = 1024;
/** ms that challenges read from the store are cached. */
export const DNS_TEXTS_MS = 500;
/** Connections with DNS queries on each address; the oldest is closed first. */
export const DNS_CONNECTIONS_MAX = 128;
/** Connections with DNS queries from one network. */
export const DNS_CONNECTIONS_OF_ONE_MAX = 16;
/** ms until the next query on such a connection must be complete. */
export const DNS_CONNECTION_IDLE_MS = 5000;
/** ms for a DNS server to answer the first attempt. */
export const DNS_TRY_MS = 2000;
/** Attempts per DNS query. */
export const DNS_TRIES = 2;
/** ms after which a DNS lookup is given up, however many referrals it followed. */
export const DNS_ANSWER_MS = 8000;
/** Values of a DNS answer that are shown to the owner of a domain that was checked; the DNS may have any number. */
export const DNS_SHOWN_MAX = 4;
/** Characters shown of each value. */
export const DNS_SHOWN_LENGTH = 100;

// ## Domains

/** Domain checks on request that run at the same time; each takes six DNS queries. */
export const DOMAIN_LOOKS_MAX = 32;
/** Domain checks of one account that run at the same time; its calls per minute keep few of them busy for long. */
export const DOMAIN_LOOKS_OF_ONE_MAX = 8;
/** Times per minute, in the long run, that an account may add or check a domain. */
export const DOMAIN_CALLS_PER_MINUTE = 20;
/** Times in one burst that an account may add or check a domain. */
export const DOMAIN_CALLS_BURST = 10;
/** ms between two checks of a verified domain. */
export const DOMAIN_CHECK_MS = 24 * 3600_000;
/** Random variation of that in ms, so that domains that were verified together are not always checked together. */
export const DOMAIN_CHECK_JITTER_MS = 2 * 3600_000;
/** ms that the records of a verified domain may be wrong before the domain is released. */
export const DOMAIN_GRACE_MS = 7 * 24 * 3600_000;
/** ms that an unverified domain stays claimed. */
export const DOMAIN_CLAIM_MS = 30 * 24 * 3600_000;
/** ms between two searches for domains that are due for a check. */
export const DOMAIN_SWEEP_MS = 60_000;
/** Domains that a relay reserves for checking at the same time: 70,000 a day. */
export const DOMAIN_SWEEP_BATCH = 50;
/** Reserved domains that it checks at the same time. */
export const DOMAIN_SWEEP_AT_ONCE = 8;
/**
 * ms after which another relay checks a domain that a relay reserved without reporting a result: that relay has died.
 */
export const DOMAIN_SWEEP_LEASE_MS = 3600_000;
/** Domains read from the store in one query; all of them are in memory, about 200 bytes each. */
export const DOMAINS_BATCH = 1000;
/** ms until the domains are requested again from a store that has failed. */
export const DOMAIN_RETRY_MS = 1000;
/** ms that the relay's own addresses are cached, which are shown as records for some domains. */
export const OWN_ADDRESSES_MS = 5 * 60_000;

// ## Administration

/** ms that the closing of a tunnel by an operator is remembered: a relay learns of it within a second. */
export const CLOSED_TUNNELS_KEPT_MS = 3_600_000;
/** Newest admin actions, which are kept regardless of age; also the most that can be listed in one request. */
export const AUDIT_MAX = 10_000;
/** ms that every admin action is kept, regardless of how many follow: long enough for a yearly review. */
export const AUDIT_KEPT_MS = 365 * 24 * 3_600_000;
/**
 * Admin actions that the keys of one account can add to the audit log in 24 h. An action that cannot be recorded is
 * refused, so nobody can push an entry out. A year of them takes about 300 MB.
 */
export const AUDIT_ACTS_PER_DAY = 2000;
/** ms that the removal of a verified domain is remembered, for restores of older backups. */
export const ENDED_DOMAIN_KEPT_MS = 400 * 24 * 3_600_000;
/** Newest removals of verified domains that are remembered per account. */
export const ENDED_DOMAINS_MAX = 1000;
/**
 * Minimum time in ms that the end of a tunnel that was taken over is remembered: it may have had a longer life before.
 */
export const ENDED_TAKEN_OVER_KEPT_MS = 30 * 24 * 3_600_000;
/** Characters of the reason for a suspension. */
export const REASON_MAX_LENGTH = 200;
/** Accounts that one command creates. */
export const ACCOUNTS_AT_ONCE_MAX = 1000;
/** Invitations that an address may open or accept per minute: they cannot be guessed, and each costs a query. */
export const INVITE_TRIES_PER_MINUTE = 30;
/** Longest life of an invitation, in seconds. */
export const INVITE_TTL_CEILING_SECONDS = 90 * 24 * 3600;
/** Invitations that one command creates. */
export const INVITES_AT_ONCE_MAX = 1000;

// ## `culvert-relay doctor`

/** ms for each check of `culvert-relay doctor`. */
export const DIAGNOSIS_CHECK_MS = 15_000;
/** ms that a check waits for an answer. */
export const DIAGNOSIS_ANSWER_MS = 10_000;
/** Characters of an answer that a check reads; the description of the API has about 150,000. */
export const DIAGNOSIS_ANSWER_MAX_BYTES = 1024 * 1024;
/** ms for the first chunk of a response to arrive while the second one is held back. */
export const DIAGNOSIS_PIECE_MS = 3000;
/** Maximum of `--idle` in seconds, so that diagnostics end in reasonable time. */
export const DIAGNOSIS_IDLE_MAX_SECONDS = 30 * 60;
/** ms after which an account created by the diagnostics counts as left over: longer than they run. */
export const DIAGNOSIS_LEFTOVER_MS = 3_600_000;
/** Difference in ms that the clock may have to another machine's: cluster members and proofs allow for that much. */
export const DIAGNOSIS_CLOCK_OFF_MS = 10_000;
/** ms after which a backup of the database counts as old. */
export const BACKUP_OLD_MS = 7 * 24 * 3_600_000;
/** Remaining validity in ms below which a certificate should already have been renewed. */
export const CERTIFICATE_ENDING_MS = 14 * 24 * 3_600_000;

// ## Certificates

/** Bytes of a response of a certificate authority: a chain has about 6 KB. */
export const ACME_ANSWER_MAX_BYTES = 128 * 1024;
/** ms for such a response to complete. */
export const ACME_REQUEST_TIMEOUT_MS = 20_000;
/** Longest `Retry-After` of an authority that is obeyed, in ms. */
export const ACME_RETRY_AFTER_MAX_MS = 24 * 3_600_000;
/** Nonces of an authority that are kept for further requests. */
export const ACME_NONCES_MAX = 16;
/** Times that a request is repeated because the authority rejected its nonce. */
export const ACME_NONCE_RETRIES = 8;
/** ms after which an ACME order is abandoned and another may begin. */
export const ACME_ORDER_TIMEOUT_MS = 120_000;
/** Certificates in a chain. */
export const ACME_CHAIN_MAX = 10;
/** ms until a failed ACME order is tried again, doubled for each failure in a row. Authorities allow five an hour. */
export const ORDER_RETRY_MS = 180_000;
/** The longest such delay, in ms. */
export const ORDER_RETRY_MAX_MS = 12 * 3_600_000;
/** ms without a request to an authority that does not work, doubled for each failure in a row. */
export const AUTHORITY_RETRY_MS = 10_000;
/** The longest such pause, in ms. */
export const AUTHORITY_RETRY_MAX_MS = 3_600_000;
/** ACME orders that a relay processes at the same time. */
export const ORDERS_AT_ONCE = 32;
/** ACME orders per hour, unless the operator sets another number. */
export const ORDERS_PER_HOUR = 20;
/** Maximum of that setting. Let's Encrypt allows 300 in three hours. */
export const ORDERS_PER_HOUR_CEILING = 1000;
/** Names remembered because an ACME order for them would currently fail; about 2 MB. */
export const REFUSED_NAMES_MAX = 10_000;
/** Certificates loaded for handshakes; about 70 MB. Others are read from the store again. */
export const CONTEXTS_MAX = 2000;
/** Certificates read from the store at the same time; further handshakes get none. */
export const CERTIFICATE_READS_MAX = 256;
/** Handshakes that wait for an ACME order. */
export const CERTIFICATE_WAITS_MAX = 512;
/** Handshakes that wait for one name. */
export const CERTIFICATE_WAITS_PER_NAME_MAX = 32;
/**
 * Handshakes that wait for names of one account, so that an owner of many names cannot take the places of other
 * people's visitors.
 */
export const CERTIFICATE_WAITS_PER_ACCOUNT_MAX = 64;
/** ms that they wait: as long as browsers do. */
export const CERTIFICATE_WAIT_MS = 30_000;
/** Connections to the port for plain HTTP. */
export const HTTP_PORT_CONNECTIONS_MAX = 1024;
/** Bytes of a request head on that port. */
export const HTTP_PORT_HEAD_MAX_BYTES = 8 * 1024;
/** ms for a request on that port to arrive, or for its response to be read. */
export const HTTP_PORT_REQUEST_MS = 10_000;
/** ms that a connection to that port waits for another request. */
export const HTTP_PORT_IDLE_MS = 5000;
/** Requests per connection to that port. */
export const HTTP_PORT_REQUESTS_MAX = 100;
/** Domains whose delegation is remembered; about 2 MB. */
export const DELEGATIONS_KNOWN_MAX = 10_000;
/** ms that a visitor's handshake may wait for a resolver that looks up a delegation. */
export const DELEGATION_LOOKUP_MS = 5000;
