/**
 * The limits of what the relay keeps, waits for and takes, each with its reason. Those of the protocol itself are in `shared/`.
 * A number that limits nothing others can fill or wait for (the length of a key, how often the relay looks at its own
 * state) stands where it is used.
 */

/** Bytes of a request body (docs/protocol.md section 2.2: 413 above). A create request needs a few hundred. */
export const BODY_MAX_BYTES = 16 * 1024;

/**
 * Keys that the store does not know which an address may present in a minute, and at once. Nobody guesses a key, but each
 * costs a look into the store.
 */
export const WRONG_KEYS_PER_MINUTE = 30;
/** Keys that are remembered as right; some 1 MB. Beyond it the one that came longest ago is as good as unknown. */
export const KNOWN_KEYS_MAX = 10_000;
/** Creates an account may make in a minute in the long run (docs/protocol.md section 3.2). */
export const CREATES_PER_MINUTE = 10;
/** Creates an account may make at once (docs/protocol.md section 3.2). */
export const CREATE_BURST = 5;

/** Share of the event loop that the API may take while visitors want it: they keep three quarters. */
export const API_LOOP_SHARE = 0.25;
/** ms of the loop that the API may take at once then: some requests. */
export const API_LOOP_BURST_MS = 1;
/**
 * How much longer a request of the API occupies the loop, its head and its answer included, than from its turn to its first wait for
 * the store. Measured: 1.3 for what needs no store, up to 3 for what does.
 */
export const API_COST_FACTOR = 3;
/** ms since visitors were last seen to have work of the loop, for which they are taken to want it. */
export const VISITORS_RECENT_MS = 20;
/**
 * Bytes read from a socket at once from which on they take turns with those of others (docs/decisions/0014-turns-of-the-loop.md):
 * more than nearly every head, less than what a body or a flood comes in.
 */
export const BULK_READ_BYTES = 4096;
/** ms of a turn of the event loop after which no more of those are begun in it. */
export const BULK_TURN_MS = 1;
/** Writes of the API that the store has to do at a time: enough to keep it busy, few enough to be soon through. */
export const API_WRITES_MAX = 8;
/** Those of them for one account. */
export const ACCOUNT_WRITES_MAX = 2;

/** Tunnels of a list that are written in one turn: about as long as another request takes. */
export const LIST_BATCH = 50;

/**
 * ms between two flushes of traffic counters. With the time a flush takes, a crash loses at most the last second
 * (docs/protocol.md section 3.3).
 */
export const FLUSH_INTERVAL_MS = 900;
/**
 * ms before the stored end of a tunnel in idle mode from which on its traffic is stored at once, where other relays read the
 * store: longer than they would otherwise have to wait for it.
 */
export const FLUSH_URGENT_MS = 2000;
/** ms from such traffic to its flush, for what comes with it. */
export const FLUSH_SOON_MS = 50;
/** Tunnels whose counters go into one transaction. More at once would hold up visitors while it runs. */
export const FLUSH_BATCH = 200;

/** ms a statement waits for another process that writes to the same SQLite file, before it fails. */
export const SQLITE_BUSY_MS = 2000;
/** ms between two tries of such a statement. */
export const SQLITE_RETRY_MS = 10;

/** Operations that wait for the thread of an embedded database; more are refused, with 503. It does some 20,000 a second. */
export const STORE_CALLS_MAX = 5000;
/** ms after which that thread counts as stuck, with all that it may wait for itself. */
export const STORE_ANSWER_TIMEOUT_MS = 10_000;
/** ms until a thread that was lost is started again. */
export const STORE_THREAD_RETRY_MS = 1000;

/** Connections to PostgreSQL at a time. A server takes 100 by default, and statements are short. */
export const POSTGRES_CONNECTIONS_MAX = 10;
/** Operations that wait for one of them; more are refused, with 503. */
export const POSTGRES_WAITING_MAX = 1000;
/** ms to connect, or to get a connection that others use. */
export const POSTGRES_CONNECT_TIMEOUT_MS = 2000;
/** ms a statement waits for a row that another relay has locked. */
export const POSTGRES_LOCK_TIMEOUT_MS = 2000;
/** ms after which the server gives up a statement, or a transaction in which nothing happens. */
export const POSTGRES_STATEMENT_TIMEOUT_MS = 4000;
/** ms after which a server that does not even say that counts as lost. */
export const POSTGRES_QUERY_TIMEOUT_MS = 5000;
/** ms a step of bringing the database up to date may take, other relays that do so before this one included. */
export const POSTGRES_MIGRATION_TIMEOUT_MS = 600_000;
/** ms without a try after a connection has failed; doubled for each failure in a row. */
export const POSTGRES_RETRY_BASE_MS = 100;
/** ms it is doubled to: a server that is back is noticed within a second. */
export const POSTGRES_RETRY_CAP_MS = 1000;
/** ms a relay waits at start for another one, on the same database, that is just ending. */
export const POSTGRES_RELAY_LOCK_WAIT_MS = 2000;
/** ms between two tries to get the lock that says that one relay uses a database. */
export const POSTGRES_RELAY_LOCK_RETRY_MS = 500;
/** ms that closing the connections in order may take. */
export const POSTGRES_CLOSE_TIMEOUT_MS = 2000;

/** Rows that are moved to another database at once; PostgreSQL takes 65,535 values in a statement, a tunnel has 12. */
export const TRANSFER_BATCH = 1000;

/** Seconds a client is told to wait while the store cannot be reached. */
export const STORE_RETRY_AFTER_SECONDS = 1;

/**
 * ms after its stored end at which a tunnel that no relay has ended gives its slug away: more than clocks of relays differ
 * by, and than traffic that prolongs a life takes to be stored.
 */
export const EXPIRED_GRACE_MS = 60_000;

/** Slugs drawn for one tunnel before giving up; with 50 random bits a second draw is already unheard of. */
export const SLUG_ATTEMPTS = 5;

/** Bytes of log lines that wait for a reader that does not take them; some thousands of lines. */
export const LOG_BUFFER_MAX_BYTES = 1024 * 1024;
/** ms the last lines of the log may take at exit: a reader that stalls must not keep the program. */
export const LOG_CLOSE_TIMEOUT_MS = 1000;
/** ms after which a store operation is reported as slow: a hundred times what a commit to a disk takes. */
export const STORE_SLOW_MS = 500;
/** ms the event loop may stand still before it is reported; visitors notice less. */
export const LOOP_STALL_MS = 1000;
/** ms between two lines of the log that say the same is slow again. */
export const LOG_REPEAT_MS = 10_000;
/** ms the store has to answer a readiness probe; whoever probes waits a few seconds itself. */
export const READY_TIMEOUT_MS = 2000;
/** Connections to `/metrics` at a time: one for each Prometheus, and room for people. */
export const METRICS_CONNECTIONS_MAX = 16;
/** ms a request for `/metrics` may take to arrive. */
export const METRICS_REQUEST_TIMEOUT_MS = 5000;

/** ms open connections get to finish after the first SIGTERM (docs/protocol.md section 7). */
export const STOP_DEADLINE_MS = 30_000;
/** ms a request that was on its way at SIGTERM gets to arrive on a connection that has none: a round trip, and then some. */
export const DRAIN_IDLE_MS = 1000;
/** ms a relay that shuts down looks for a good moment to close its listener, however much still comes. */
export const DRAIN_BACKLOG_MS = 1000;
/** ms a turn of the event loop may take in which nothing happens. */
export const QUIET_TURN_MS = 0.2;
/** ms clients get to go to another relay before this one lets go of them: twice what they spread over, and some tries. */
export const DRAIN_MOVE_MS = 5000;
/** ms between two looks at whether visitors still wait for data sockets, or clients are there, while the relay shuts down. */
export const DRAIN_LOOK_MS = 20;

/** The longest `CULVERT_MAX_TTL`, in seconds: ten years. Keeps every expiry a date JavaScript can show. */
export const TTL_CEILING_SECONDS = 10 * 365 * 24 * 3600;

/** The longest `CULVERT_NAME_HOLD`, in seconds: a year. Each ended tunnel costs a row in the store for as long. */
export const NAME_HOLD_CEILING_SECONDS = 365 * 24 * 3600;

/**
 * The most of `CULVERT_WARM_SOCKETS`: more would let one client hold more sockets than its visitors could need at once.
 */
export const WARM_SOCKETS_CEILING = 64;
/**
 * The most of `CULVERT_MAX_CONNECTIONS` and `CULVERT_ADDRESS_CONNECTIONS`: no process is allowed more file descriptors than
 * that by default, and each visitor takes up to two.
 */
export const CONNECTIONS_CEILING = 500_000;
/** The most of `CULVERT_ADDRESS_REQUESTS`, a second: more than a relay answers, so that more would be no limit. */
export const ADDRESS_REQUESTS_CEILING = 100_000;

/** ms between two looks at whether keys or accounts were changed beside the running relay, which must act within 1 s. */
export const ACCESS_POLL_MS = 300;
/** Keys or accounts that are asked for at once; SQLite takes 32,766 values in a statement. */
export const ACCESS_BATCH = 500;

/** MiB of each part of V8's memory for young objects. Measured: more takes longer to look through and serves no faster. */
export const YOUNG_GENERATION_MIB = 4;

/**
 * How much V8's memory for old objects may grow before garbage is looked for in it, in % of what was in use after the last
 * time. Measured: V8's own choice, up to 300, takes as much CPU.
 */
export const OLD_GENERATION_GROWTH_PERCENT = 100;

/** Visitors' connections at a time; the default of a setting. Each may cost some 100 KiB in the worst case. */
export const CONNECTIONS_MAX = 10_000;
/**
 * Connections without a seat: those that have sent no request yet, and those of which only the relay itself has answered.
 * Above a full accept queue, so that a burst of visitors gets in.
 */
export const NEWCOMERS_MAX = 8192;
/**
 * Seats that requests to an account's tunnels may hold for each that is left for others. So the first gets three quarters
 * at most, the next three quarters of what is left, whatever the plan, which may allow any number.
 */
export const ACCOUNT_SHARE = 3;
/**
 * Connections of one visitor's address at a time; the default of a setting. A browser opens six to a host, so some forty people
 * may share an address.
 */
export const ADDRESS_CONNECTIONS_MAX = 256;
/** Seconds' worth of requests that an address may make at once, where their number is limited (docs/protocol.md section 4.6). */
export const ADDRESS_BURST_SECONDS = 10;
/** Buckets that a rate limiter keeps; some 10 MB. Beyond it the one is forgotten that was used longest ago. */
export const RATE_BUCKETS_MAX = 100_000;
/** Control and data sockets at a time. At some 7 KB each; below the file descriptors that systems allow a process. */
export const CLIENT_SOCKETS_MAX = 100_000;
/** Visitors of one tunnel that wait for its client: announced, or held over. The client takes no more at once. */
export const WAITING_MAX = 4096;

/** Seconds for which a browser is not told again what a tunnel on the free plan is: longer than nearly all of them live. */
export const NOTICE_COOKIE_SECONDS = 30 * 24 * 3600;

/** ms visitors wait for a client that has just left (docs/protocol.md section 4.2). */
export const HOLD_OVER_MS = 10_000;
/**
 * ms in which a client that seems to be gone has to give a sign of life on each of its data sockets. Long, because a ping waits
 * behind what was sent before; with the second until somebody looks, visitors still have an answer within 10 s.
 */
export const LIFE_SIGN_MS = 8000;
/** Data sockets a client may offer ahead for each tunnel (docs/protocol.md section 6.4); the default of a setting. */
export const WARM_SOCKETS_MAX = 8;
/** ms after which an offered data socket that nobody used is closed (docs/protocol.md section 6.4). */
export const WARM_IDLE_MS = 60_000;
/** Bytes of announcements queued for a client that reads nothing; some ten thousand of them. */
export const CONTROL_BUFFER_MAX_BYTES = 1024 * 1024;
/** ms a client has to answer the Close frame of its control socket. */
export const CONTROL_CLOSE_TIMEOUT_MS = 5000;

/** Bytes of a request head (docs/protocol.md section 4.5: 431 above). */
export const REQUEST_HEAD_MAX_BYTES = 16 * 1024;
/** Field lines of a request head (docs/protocol.md section 4.5: 431 above). */
export const REQUEST_FIELDS_MAX = 200;
/** Bytes of a request target (docs/protocol.md section 4.5: 414 above). */
export const REQUEST_TARGET_MAX_BYTES = 8 * 1024;
/** Bytes of a response head of a local service. Generous: cookies and policies of development servers grow large. */
export const RESPONSE_HEAD_MAX_BYTES = 64 * 1024;
/** Field lines of one. A policy for each of everything is some fifty; browsers keep 180 cookies of a site. */
export const RESPONSE_FIELDS_MAX = 500;
/** Interim responses (1xx) in a row before a final one. Servers send one or two, and Go's client takes five. */
export const INTERIM_RESPONSES_MAX = 64;
/**
 * Values of `Host` in each of the two generations of which is remembered what they name; visitors send few different ones.
 */
export const REMEMBERED_HOSTS_MAX = 512;
/** Connections the system holds until the relay takes them. A burst beyond it waits a second for the next try. */
export const LISTEN_BACKLOG = 1024;
/** Bytes of a visitor's that wait for their turn before its connection is paused. */
export const BACKLOG_MAX_BYTES = 64 * 1024;

/** ms a request head may take from its first byte (docs/protocol.md section 4.5: 408 after). */
export const HEAD_TIMEOUT_MS = 15_000;
/** ms without a byte of an unfinished request body (docs/protocol.md section 4.5: 408 after). */
export const BODY_TIMEOUT_MS = 60_000;
/** ms without a visitor taking a byte while some wait for it (docs/protocol.md section 4.5). */
export const STALL_TIMEOUT_MS = 60_000;
/** ms a connection may be kept open without a request. More than the usual 60 s of the proxies in front. */
export const IDLE_TIMEOUT_MS = 75_000;
/** ms an answered visitor may go on sending before its connection is cut: a cut at once would lose it the answer. */
export const LINGER_TIMEOUT_MS = 2000;
/** ms of silence after which TCP asks whether the peer is still there: one that lost its network never says so. */
export const KEEP_ALIVE_MS = 60_000;
/** ms a TLS handshake may take: a few round trips, on a slow network. */
export const TLS_HANDSHAKE_TIMEOUT_MS = 10_000;
/** ms between two looks at the files of certificate and key. */
export const TLS_RELOAD_MS = 5000;
/** ms between two looks at the deadlines above. */
export const DEADLINE_TICK_MS = 500;

/** ms a start waits for Redis, so that a relay that says it listens is one of the cluster. */
export const CLUSTER_START_TIMEOUT_MS = 5000;
/** ms Redis has to connect and to answer, thousands of times what it takes. */
export const REDIS_TIMEOUT_MS = 2000;
/** ms between two tries to reach Redis, at most, so that what was restarted is back within 5 s. */
export const REDIS_RETRY_MAX_MS = 2000;
/** ms of silence after which TCP asks whether Redis is still there: nothing is sent on the connection for messages. */
export const REDIS_KEEP_ALIVE_MS = 10_000;
/** ms between two looks at what is to be told to Redis. */
export const UPKEEP_TICK_MS = 500;
/** ms for which others take a relay for alive without hearing of it: three renewals, and then some. */
export const RELAY_LEASE_MS = 10_000;
/** Relays with another secret that the log has named, and does not name again. */
export const STRANGERS_MAX = 64;
/** ms between two renewals of that lease, so that two may fail. */
export const LEASE_RENEW_MS = 3000;
/** Numbers that a relay tries when some are taken: of 65,535, so none is free only where something is very wrong. */
export const RELAY_NUMBER_ATTEMPTS = 20;
/** ms between two times of telling Redis every control socket. */
export const PRESENCE_REPEAT_MS = 5 * 60_000;
/** ms for which Redis keeps what it was told of one: three times as long. */
export const PRESENCE_KEEP_MS = 15 * 60_000;
/** ms between two looks at how much time has passed. */
export const PULSE_MS = 500;
/** ms for which the process may stand still before what it holds may have been taken over; far below the lease. */
export const PULSE_LEAP_MS = 3000;
/** ms for which a relay that was paused tries to find out what has moved. */
export const LEAP_CHECK_MS = 5000;
/** ms between two tries to. */
export const LEAP_RETRY_MS = 100;
/** ms in which another relay tells of a client that has just come to it: the client may be faster with its first visitor. */
export const CLAIM_GRACE_MS = 1000;
/** ms before another relay is asked a second time for a client that offers a data socket, for the same reason. */
export const CLAIM_LOOK_MS = 100;
/** Tunnels told to Redis in one command, which holds up everybody else's. */
export const PRESENCE_BATCH = 500;
/** ms between two times of asking others to use no data sockets that pass through a relay that shuts down. */
export const LEAVING_REPEAT_MS = 500;
/** ms to connect to another relay: they are close to each other. */
export const HOP_CONNECT_TIMEOUT_MS = 2000;
/** ms another relay has to say whether it takes a data socket: it may have to ask the store whose key it is. */
export const HOP_RESPONSE_TIMEOUT_MS = 5000;
/** ms in which a connection from another relay must have said what it is for. */
export const HOP_LINE_TIMEOUT_MS = 5000;
/** Bytes in which it must, and bytes for whom a data socket is: an id, and two keys of at most some hundred bytes each. */
export const HOP_LINE_MAX_BYTES = 4096;
/** ms a connection to another relay is kept for the next data socket. */
export const HOP_IDLE_MS = 30_000;
/** Connections to each other relay that are kept. */
export const HOP_IDLE_MAX = 64;
/** Data sockets of which each other relay has not said yet whether it takes them: thousands a second, and no more than it has room for. */
export const HOPS_ASKED_MAX = 1024;
/** Tunnels that are compared with the store in one query. */
export const FOLLOW_BATCH = 500;
/** ms between two such queries where all tunnels are compared: 10,000 tunnels a second, a tenth of one connection. */
export const REVIEW_PAUSE_MS = 50;
/** ms until that is tried again from the beginning when the store has failed. */
export const REVIEW_RETRY_MS = 1000;
/** ms between two looks for tunnels that no relay is left to end. Above what a store may be away without being noticed. */
export const SWEEP_INTERVAL_MS = 60_000;
/** Such tunnels that are removed in one transaction. */
export const SWEEP_BATCH = 500;
/** ms for which it is believed that no tunnel has a slug, if nobody says otherwise. */
export const LOOKUP_MISS_MS = 5000;
/** Slugs for which that is remembered: some 1 MB. */
export const LOOKUP_MISSES_MAX = 10_000;
/** Questions for slugs at a time: where one is slow, others are asked meanwhile, on some of the connections only. */
export const LOOKUPS_MAX = 4;
/** Slugs in a question; the query takes some ms, so that thousands that wait are through within a second. */
export const LOOKUP_BATCH = 500;
/** Slugs that wait to be asked for: some 20 MB, and several times as many as visitors may be connected. */
export const LOOKUPS_WAITING_MAX = 50_000;
/** ms by which another relay's word of traffic may be late: so long a tunnel in idle mode is not ended for want of it. */
export const IDLE_GRACE_MS = 500;
/** ms for which an ended tunnel is remembered: longer than any query may take. */
export const RECENTLY_ENDED_MS = 30_000;
