/**
 * The limits of what the relay keeps, waits for and takes, each with its reason. Those of the protocol itself are in
 * `shared/`. A number that limits nothing that others can fill or wait for (the length of a key, how often the relay looks at
 * its own state) is defined where it is used.
 */

// ## API

/** Bytes of a request body (docs/protocol.md section 2.2: 413 above). A create request needs a few hundred. */
export const BODY_MAX_BYTES = 16 * 1024;

/**
 * Keys unknown to the store that an address may present in a minute, and at once. Nobody guesses a key, but each costs a
 * query.
 */
export const WRONG_KEYS_PER_MINUTE = 30;
/** Keys that are remembered as right; some 1 MB. Beyond it the one used longest ago is forgotten, and counts as unknown. */
export const KNOWN_KEYS_MAX = 10_000;
/** Creates an account may make in a minute in the long run (docs/protocol.md section 3.2). */
export const CREATES_PER_MINUTE = 10;
/** Creates an account may make at once (docs/protocol.md section 3.2). */
export const CREATE_BURST = 5;

/** Share of the event loop that the API may use while visitors need it: they keep three quarters. */
export const API_LOOP_SHARE = 0.25;
/** ms of the loop that the API may then use at once: some requests. */
export const API_LOOP_BURST_MS = 1;
/**
 * How much longer a request of the API occupies the loop in all, with its head and its response, than from its turn to its
 * first wait for the store. Measured: 1.3 for requests that need no store, up to 3 for those that do.
 */
export const API_COST_FACTOR = 3;
/** ms for which visitors count as needing the loop after they were last seen to have work for it. */
export const VISITORS_RECENT_MS = 20;
/** Writes of the API under way in the store at a time: enough to keep it busy, few enough to be done soon. */
export const API_WRITES_MAX = 8;
/** Those of one account. */
export const ACCOUNT_WRITES_MAX = 2;

/** Tunnels of a list that are written in one turn: this takes about as long as another request. */
export const LIST_BATCH = 50;

// ## Tunnels and the store

/**
 * ms between two flushes of traffic counters. With the time a flush takes, a crash loses at most the last second
 * (docs/protocol.md section 3.3).
 */
export const FLUSH_INTERVAL_MS = 900;
/**
 * In idle mode, the traffic of a tunnel is stored at once from this many ms before its stored end, if other relays read the
 * store: longer than they would otherwise have to wait for it.
 */
export const FLUSH_URGENT_MS = 2000;
/** ms from such traffic to its flush, which takes along other traffic that comes meanwhile. */
export const FLUSH_SOON_MS = 50;
/** Tunnels whose counters go into one transaction. More at once would hold up visitors while it runs. */
export const FLUSH_BATCH = 200;

/** ms a statement waits for another process that writes to the same SQLite file, before it fails. */
export const SQLITE_BUSY_MS = 2000;
/** ms between two tries of such a statement. */
export const SQLITE_RETRY_MS = 10;

/** Operations that wait for the thread of an embedded database; more are refused with 503. It does some 20,000 a second. */
export const STORE_CALLS_MAX = 5000;
/** ms after which that thread counts as stuck; includes everything that it may wait for itself. */
export const STORE_ANSWER_TIMEOUT_MS = 10_000;
/** ms until a lost thread is started again. */
export const STORE_THREAD_RETRY_MS = 1000;

/** Connections to PostgreSQL at a time. A server takes 100 by default, and statements are short. */
export const POSTGRES_CONNECTIONS_MAX = 10;
/** Operations that wait for one of them; more are refused with 503. */
export const POSTGRES_WAITING_MAX = 1000;
/** ms to connect, or to get a connection that others use. */
export const POSTGRES_CONNECT_TIMEOUT_MS = 2000;
/** ms a statement waits for a row that another relay has locked. */
export const POSTGRES_LOCK_TIMEOUT_MS = 2000;
/** ms after which the server gives up a statement, or a transaction in which nothing happens. */
export const POSTGRES_STATEMENT_TIMEOUT_MS = 4000;
/** ms after which a server that does not do even that counts as lost. */
export const POSTGRES_QUERY_TIMEOUT_MS = 5000;
/** ms a step of bringing the database up to date may take, including waiting for other relays that do the same. */
export const POSTGRES_MIGRATION_TIMEOUT_MS = 600_000;
/** ms without a new attempt after a connection has failed; doubled for each failure in a row. */
export const POSTGRES_RETRY_BASE_MS = 100;
/** The most that this is doubled to, in ms: a server that is back is noticed within a second. */
export const POSTGRES_RETRY_CAP_MS = 1000;
/** ms a relay waits at start for another one on the same database that is about to end. */
export const POSTGRES_RELAY_LOCK_WAIT_MS = 2000;
/** ms between two attempts to get the lock that makes a relay the only one on a database. */
export const POSTGRES_RELAY_LOCK_RETRY_MS = 500;
/** ms that closing the connections in order may take. */
export const POSTGRES_CLOSE_TIMEOUT_MS = 2000;

/** Rows that are moved to another database at once; PostgreSQL takes 65,535 values in a statement, and a tunnel has 12. */
export const TRANSFER_BATCH = 1000;

/** Tunnels that are read in one query when a relay starts. */
export const LOAD_BATCH = 500;

/** Seconds a client is told to wait while the store cannot be reached. */
export const STORE_RETRY_AFTER_SECONDS = 1;

/**
 * ms after its stored end at which a tunnel that no relay has ended gives up its slug: more than the clocks of relays differ,
 * and more than it takes to store traffic that prolongs a life.
 */
export const EXPIRED_GRACE_MS = 60_000;

/** Slugs drawn for one tunnel before giving up; with 50 random bits a second draw is already extremely rare. */
export const SLUG_ATTEMPTS = 5;

// ## Log and metrics

/** Bytes of log lines that wait for a slow reader; some thousands of lines. */
export const LOG_BUFFER_MAX_BYTES = 1024 * 1024;
/** ms that writing the last lines of the log may take at exit: a reader that stalls must not keep the program running. */
export const LOG_CLOSE_TIMEOUT_MS = 1000;
/** ms after which a store operation is reported as slow: a hundred times what a commit to a disk takes. */
export const STORE_SLOW_MS = 500;
/** ms the event loop may stand still before that is reported; visitors notice less. */
export const LOOP_STALL_MS = 1000;
/** ms between two lines of the log that report the same thing as slow. */
export const LOG_REPEAT_MS = 10_000;
/** ms the store has to answer a readiness probe; the prober waits a few seconds itself. */
export const READY_TIMEOUT_MS = 2000;
/** Connections to `/metrics` at a time: one for each Prometheus, and room for people. */
export const METRICS_CONNECTIONS_MAX = 16;
/** ms a request for `/metrics` may take to arrive. */
export const METRICS_REQUEST_TIMEOUT_MS = 5000;

// ## Start, shutdown and replacement

/** ms open connections get to finish after the first SIGTERM (docs/protocol.md section 7). */
export const STOP_DEADLINE_MS = 30_000;
/** ms a request that was on its way at SIGTERM has to arrive on an idle connection: a round trip, and then some. */
export const DRAIN_IDLE_MS = 1000;
/** ms a relay that shuts down looks for a quiet moment to close its listener, however many connections still come. */
export const DRAIN_BACKLOG_MS = 5000;
/** ms a turn of the event loop may take that counts as quiet. */
export const QUIET_TURN_MS = 0.2;
/** ms of looking after which a turn that takes twice as long counts as quiet, too: a busy relay has no better one. */
export const QUIET_DOUBLING_MS = 500;
/**
 * ms clients have to move to another relay before this one drops them: twice the time over which they are spread, and some
 * attempts.
 */
export const DRAIN_MOVE_MS = 5000;
/** During shutdown, ms between two looks at whether visitors still wait for data sockets, or clients are still connected. */
export const DRAIN_LOOK_MS = 20;
/** ms for the service manager to hear that the relay serves. */
export const NOTIFY_TIMEOUT_MS = 5000;
/** ms for a relay that is started with `--detach` to serve. */
export const DETACHED_START_MS = 120_000;
/** ms a relay and the one that replaces it wait for each other's next step. */
export const HANDOFF_STEP_MS = 10_000;
/** ms for the new one to load what it needs, while the other serves: its database may have to be brought up to date. */
export const HANDOFF_READY_MS = 60_000;
/** ms the body of a request to the API may take to arrive while a replacement waits for it. */
export const HANDOFF_SETTLE_MS = 2000;
/** ms for the first line of a connection between the two. */
export const HANDOFF_HELLO_MS = 5000;
/** Bytes of a message between the two: the clients of 100,000 tunnels. */
export const HANDOFF_LINE_MAX_BYTES = 16 * 1024 * 1024;
/** Messages between two relays that wait to be asked for. */
export const SUCCESSION_WAITING_MAX = 64;
/** ms a relay that was replaced keeps a connection on which no request comes. */
export const REPLACED_IDLE_MS = 10_000;
/** ms after a refused connection to the relay that has replaced this one until the next try: its queue was full. */
export const HANDOFF_RETRY_MS = 20;

// ## Largest values of settings

/** The longest `CULVERT_MAX_TTL`, in seconds: ten years. Keeps every expiry within what JavaScript dates can show. */
export const TTL_CEILING_SECONDS = 10 * 365 * 24 * 3600;

/** The longest `CULVERT_NAME_HOLD`, in seconds: a year. Each ended tunnel costs a row in the store for as long. */
export const NAME_HOLD_CEILING_SECONDS = 365 * 24 * 3600;

/**
 * The most that `CULVERT_MAX_CONNECTIONS` and `CULVERT_ADDRESS_CONNECTIONS` can be: by default no process is allowed more
 * file descriptors than that, and each visitor takes up to two.
 */
export const CONNECTIONS_CEILING = 500_000;
/** The most that `CULVERT_ADDRESS_REQUESTS` can be, a second: a relay serves fewer, so that more would not be a limit. */
export const ADDRESS_REQUESTS_CEILING = 100_000;

// ## Changed keys, and memory

/** ms between two looks at whether keys or accounts were changed while the relay runs, which it must act on within 1 s. */
export const ACCESS_POLL_MS = 300;
/** Keys or accounts that are asked for at once; SQLite takes 32,766 values in a statement. */
export const ACCESS_BATCH = 500;

/**
 * How much V8's memory for old objects may grow before garbage is searched in it, in % of what was in use the last time.
 * Measured: V8's own choice, up to 300, takes as much CPU.
 */
export const OLD_GENERATION_GROWTH_PERCENT = 100;

// ## Connections of visitors

/** Visitors' connections at a time; the default of a setting. Each may cost some 170 KiB in the worst case. */
export const CONNECTIONS_MAX = 10_000;
/**
 * Connections without a seat: those that have not sent a request yet, and those that only the relay itself has answered. More
 * than a full accept queue, so that a burst of visitors gets in.
 */
export const NEWCOMERS_MAX = 8192;
/**
 * Seats that requests to an account's tunnels may hold for each seat that is left for others. So the first account gets three
 * quarters at most, and the next one three quarters of the rest, even if their plans are unlimited.
 */
export const ACCOUNT_SHARE = 3;
/**
 * Connections of one visitor's address at a time; the default of a setting. A browser opens six to a host, so some forty
 * people may share an address.
 */
export const ADDRESS_CONNECTIONS_MAX = 256;
/** Seconds' worth of requests that an address may make at once, if their number is limited (docs/protocol.md section 4.6). */
export const ADDRESS_BURST_SECONDS = 10;
/** Buckets that a rate limiter keeps; some 10 MB. Beyond it, the one used longest ago is forgotten. */
export const RATE_BUCKETS_MAX = 100_000;

// ## Clients

/** Control and data sockets at a time, at some 7 KB each; fewer than the file descriptors that systems allow a process. */
export const CLIENT_SOCKETS_MAX = 100_000;
/** Visitors of one tunnel that wait for its client: announced, or held over. The client takes no more at once. */
export const WAITING_MAX = 4096;

/** ms visitors wait for a client that has just left (docs/protocol.md section 4.2). */
export const HOLD_OVER_MS = 10_000;
/**
 * ms in which a client that seems to be gone must give a sign of life on each of its data sockets. Long, because a ping waits
 * behind what was sent before; together with the second until the relay looks, visitors still get a response within 10 s.
 */
export const LIFE_SIGN_MS = 8000;
/** Trunks a client may have for each tunnel (docs/protocol.md section 10); the default of a setting. */
export const TRUNKS_MAX = 2;
/** The most of `CULVERT_TRUNKS`: a lost packet stops one of them, and more than some few make no difference. */
export const TRUNKS_CEILING = 16;
/** ms after which a trunk without a visitor is closed. The relay does it, who knows that none is on the way. */
export const TRUNK_IDLE_MS = 60_000;
/**
 * ms without a word of the client on a trunk that has something for it, after which it is asked for a sign of life and gets no
 * visitors on it until then. A service may think for longer; the client itself says that it is there.
 */
export const TRUNK_DOUBT_MS = 2000;
/** ms of a round trip from which on a client is far: a window of 64 KiB for each is little then, and plenty below. */
export const FAR_PATH_MS = 5;
/**
 * How often that is measured at most, a second apart, before a client that answers no faster is believed to be far: a busy one,
 * or one that has just been started, takes its time to answer.
 */
export const PATH_PINGS_MAX = 10;
/** Bytes one way without any the other way, from far away, after which a stream is worth a connection: more than a page. */
export const LARGE_FROM_FAR_BYTES = 128 * 1024;
/**
 * The same from nearby, where only what is very large gains anything: more than the system takes at once for a visitor
 * who reads nothing, who is better off on a trunk.
 */
export const LARGE_BYTES = 8 * 1024 * 1024;
/** ms a client has at least to answer the end of a stream, which waits behind what was sent before (docs/protocol.md section 10.2). */
export const TRUNK_ANSWER_MS = 60_000;
/**
 * ms a client has to take 16 KiB more of what is before the end of a stream, or all of it: as long as for what is before the
 * Close frame of a data socket.
 */
export const TRUNK_FLUSH_MS = 60_000;
/** Trunks of earlier control sockets that may still carry the visitors of a tunnel; the oldest goes when there are more. */
export const RETIRED_TRUNKS_MAX = 8;
/** Bytes of announcements queued for a client that reads nothing; some ten thousand announcements. */
export const CONTROL_BUFFER_MAX_BYTES = 1024 * 1024;
/**
 * ms a client has to answer the Close frame of its control socket. A tunnel keeps at most one replaced control socket meanwhile.
 */
export const CONTROL_CLOSE_TIMEOUT_MS = 5000;

// ## Requests of visitors

/**
 * Seconds for which a browser is not shown the warning page of a tunnel on the free plan again: longer than nearly all of
 * them live.
 */
export const NOTICE_COOKIE_SECONDS = 30 * 24 * 3600;

/** Bytes of a request head (docs/protocol.md section 4.5: 431 above). */
export const REQUEST_HEAD_MAX_BYTES = 16 * 1024;
/** Field lines of a request head (docs/protocol.md section 4.5: 431 above). */
export const REQUEST_FIELDS_MAX = 200;
/** Bytes of a request target (docs/protocol.md section 4.5: 414 above). */
export const REQUEST_TARGET_MAX_BYTES = 8 * 1024;
/** Bytes of a response head of a local service. Generous: cookies and policies of development servers grow large. */
export const RESPONSE_HEAD_MAX_BYTES = 64 * 1024;
/** Field lines of one. One policy field of each kind is some fifty; browsers keep 180 cookies of a site. */
export const RESPONSE_FIELDS_MAX = 500;
/** Interim responses (1xx) in a row before a final one. Servers send one or two, and Go's client takes five. */
export const INFORMATIONAL_RESPONSES_MAX = 64;
/**
 * Values of `Host` for which the relay remembers what they name, in each of two generations; visitors send few different
 * ones.
 */
export const REMEMBERED_HOSTS_MAX = 512;
/**
 * Connections that the system holds until the relay accepts them. In a burst beyond it, a connection waits a second for its
 * next attempt.
 */
export const LISTEN_BACKLOG = 1024;
/** Bytes of a visitor that wait for their turn before its connection is paused. */
export const BACKLOG_MAX_BYTES = 64 * 1024;

/** ms a request head may take from its first byte (docs/protocol.md section 4.5: 408 after). */
export const HEAD_TIMEOUT_MS = 15_000;
/** ms without a byte of an unfinished request body (docs/protocol.md section 4.5: 408 after). */
export const BODY_TIMEOUT_MS = 60_000;
/** ms a visitor may take no byte while bytes wait for it (docs/protocol.md section 4.5). */
export const STALL_TIMEOUT_MS = 60_000;
/**
 * ms without a byte sent after which a visitor that has closed its side counts as gone (docs/protocol.md section 4.5). Long enough for
 * a slow response. A closed side looks the same as a closed page until something is sent.
 */
export const LEAVE_TIMEOUT_MS = 10_000;
/** ms a connection may stay open without a request. More than the usual 60 s of the proxies in front. */
export const IDLE_TIMEOUT_MS = 75_000;
/**
 * ms a visitor may go on sending after its response before its connection is cut: cut at once, it would lose the response.
 */
export const LINGER_TIMEOUT_MS = 2000;
/** ms of silence after which TCP asks whether the peer is still there: a peer that lost its network never says so. */
export const KEEP_ALIVE_MS = 60_000;
/** ms a TLS handshake may take: a few round trips, on a slow network. */
export const TLS_HANDSHAKE_TIMEOUT_MS = 10_000;
/** ms for which session tickets are made with one key. */
export const TICKET_KEY_MS = 24 * 3600_000;
/** s for which a visitor comes back without a full handshake. */
export const SESSION_SECONDS = 12 * 3600;
/** ms between two looks at the files of certificate and key. */
export const TLS_RELOAD_MS = 5000;
/** ms until a response is cut whose visitor the access policy no longer allows: as long as at a shutdown, to finish a download. */
export const BARRED_RESPONSE_MS = 30_000;
/** ms between two looks at the deadlines above. */
export const DEADLINE_TICK_MS = 500;

// ## Several relays as one

/** ms a start waits for Redis, so that a relay that reports that it listens is part of the cluster. */
export const CLUSTER_START_TIMEOUT_MS = 5000;
/** ms Redis has to connect and to answer: thousands of times what it takes. */
export const REDIS_TIMEOUT_MS = 2000;
/** The most ms between two attempts to reach Redis, so that a Redis that was restarted is back within 5 s. */
export const REDIS_RETRY_MAX_MS = 2000;
/** ms of silence after which TCP asks whether Redis is still there: nothing is sent on the connection for messages. */
export const REDIS_KEEP_ALIVE_MS = 10_000;
/** ms between two looks at what is to be told to Redis. */
export const RENEWAL_TICK_MS = 500;
/** ms for which others take a relay to be alive without hearing from it: three renewals, and then some. */
export const RELAY_LEASE_MS = 10_000;
/** Relays with another secret that the log names once and then not again. */
export const STRANGERS_MAX = 64;
/** ms between two renewals of that lease, so that two may fail. */
export const LEASE_RENEW_MS = 3000;
/** Numbers that a relay tries if some are taken: of 65,535, so none is free only if something is very wrong. */
export const RELAY_NUMBER_ATTEMPTS = 20;
/** ms after which Redis is told of every control socket again. */
export const OWNERSHIP_REPEAT_MS = 5 * 60_000;
/** ms for which Redis keeps what it was told of one: three times as long. */
export const OWNERSHIP_KEEP_MS = 15 * 60_000;
/** ms between two looks at how much time has passed. */
export const CHANGE_POLL_MS = 500;
/** ms for which the process may stand still before others may have taken over what it holds; far below the lease. */
export const CHANGE_LEAP_MS = 3000;
/** ms for which a relay that was paused tries to find out what has moved. */
export const LEAP_CHECK_MS = 5000;
/** ms between two such attempts. */
export const LEAP_RETRY_MS = 100;
/** ms in which another relay reports a client that has just connected to it: the client's first visitor may be faster. */
export const CLAIM_GRACE_MS = 1000;
/** ms before another relay is asked a second time for a client that opens a trunk, for the same reason. */
export const CLAIM_LOOK_MS = 100;
/** Tunnels told to Redis in one command, which delays everybody else's. */
export const OWNERSHIP_BATCH = 500;
/** ms after which others are asked again not to use data sockets that pass through a relay that shuts down. */
export const LEAVING_REPEAT_MS = 500;
/** ms to connect to another relay: they are close to each other. */
export const HOP_CONNECT_TIMEOUT_MS = 2000;
/** ms another relay has to say whether it takes a data socket: it may have to ask the store whose key it is. */
export const HOP_RESPONSE_TIMEOUT_MS = 5000;
/** ms in which a connection from another relay must have proven that it comes from one. */
export const HOP_LINE_TIMEOUT_MS = 5000;
/** Bytes that say whom a data socket is for: an id, and two keys of at most some hundred bytes each. */
export const HOP_LINE_MAX_BYTES = 4096;
/** ms a connection to another relay is kept for the next data socket. */
export const HOP_IDLE_MS = 30_000;
/** Connections to each other relay that are kept. */
export const HOP_IDLE_MAX = 64;
/**
 * Data sockets for which each other relay has not yet said whether it takes them: thousands a second, and no more than it has
 * room for.
 */
export const HOPS_ASKED_MAX = 1024;
/** Tunnels that are compared with the store in one query. */
export const FOLLOW_BATCH = 500;
/** ms between two such queries when all tunnels are compared: 10,000 tunnels a second, a tenth of one connection. */
export const REVIEW_PAUSE_MS = 50;
/** ms until that begins again when the store has failed. */
export const REVIEW_RETRY_MS = 1000;
/** ms between two looks for tunnels that no relay is left to end. Longer than the store may be away without being noticed. */
export const SWEEP_INTERVAL_MS = 60_000;
/** Such tunnels that are removed in one transaction. */
export const SWEEP_BATCH = 500;
/** ms for which it is believed that no tunnel has a slug, unless told otherwise. */
export const LOOKUP_MISS_MS = 5000;
/** Slugs for which that is remembered: some 1 MB. */
export const LOOKUP_MISSES_MAX = 10_000;
/** Questions for slugs at a time: if one is slow, others are asked meanwhile, but only on some of the connections. */
export const LOOKUPS_MAX = 4;
/** Slugs in a question; the query takes some ms, so that thousands of waiting slugs are done within a second. */
export const LOOKUP_BATCH = 500;
/** Slugs that wait to be asked for: some 20 MB, and several times the number of visitors that may be connected. */
export const LOOKUPS_WAITING_MAX = 50_000;
/** ms by which another relay's report of traffic may be late: a tunnel in idle mode is not ended before that. */
export const IDLE_GRACE_MS = 500;
/** ms for which an ended tunnel is remembered: longer than any query may take. */
export const RECENT_MS = 30_000;

// ## Access to tunnels

/** Passwords that are hashed at a time: Node has four threads, which also look up names and read files. */
export const HASHES_AT_ONCE = 2;
/** Passwords of one account, at its tunnels or set by itself, that may wait for that; about 1 s. */
export const HASHES_WAITING_OF_ONE_MAX = 32;
/** Those of all accounts, who take turns. */
export const HASHES_WAITING_MAX = 1024;
/** Passes of visitors that are remembered as right; some 3 MB. Others cost a MAC each time. */
export const KNOWN_PASSES_MAX = 10_000;
/** Passwords that are remembered as right; some 1 MB. Others are hashed again. */
export const PASSED_PASSWORDS_MAX = 10_000;
/** Wrong passwords that an address may try at a tunnel in a minute, and at once. */
export const ACCESS_ATTEMPTS_PER_MINUTE = 10;
/** Wrong passwords of all unknown addresses together that a tunnel checks in a minute, and in one burst. */
export const TUNNEL_ATTEMPTS_PER_MINUTE = 60;
/** Addresses known to have shown a right password, for all tunnels together; about 2 MB. */
export const KNOWN_NETWORKS_MAX = 10_000;
/** Signed links of a tunnel at a time. */
export const LINKS_MAX = 256;
/** Links of a tunnel that were revoked before their end: every relay knows them until then; some 50 KB. */
export const REVOKED_LINKS_MAX = 1024;
/** s for which a visitor who has been let in is not asked again. */
export const PASS_SECONDS = 12 * 3600;
/** ms for which passes are made with one key. */
export const PASS_KEY_MS = 7 * 24 * 3600_000;
/** ms after which a store that failed is asked for the next key again; the one before is used meanwhile. */
export const STORE_RETRY_MS = 10_000;

// ## Visitors who knock

/** Visitors of a tunnel who knock and wait for an answer. */
export const APPROVALS_WAITING_MAX = 32;
/** Those among them from one address (a /64 for IPv6), with those who were refused lately. */
export const APPROVALS_PER_ADDRESS_MAX = 3;
/** Visitors of a tunnel who were refused and are remembered; the oldest goes when there are more. */
export const APPROVALS_REFUSED_MAX = 32;
/** Visitors of a tunnel who were let in by their knock, at a time. */
export const APPROVED_MAX = 100;
/** ms for which a response is held back until there is an answer: shorter than the time limits of the proxies in front. */
export const KNOCK_HOLD_MS = 25_000;
/** Responses that are held back for one knock: some browser tabs. */
export const KNOCK_HOLDS_MAX = 4;
/** s after which the page of a visitor with more of them looks again. */
export const KNOCK_LOOK_SECONDS = 5;
/** Times that a write is tried again because another relay was faster. */
export const KNOCK_WRITE_ATTEMPTS = 5;

// ## Keys

/** ms between two tellings of the store which keys were used: the last use of a key is known to within a minute. */
export const KEY_USES_FLUSH_MS = 30_000;
/** The longest life of a key that has an end, in seconds. */
export const KEY_TTL_CEILING_SECONDS = 10 * 365 * 24 * 3600;
/** Characters of a key's label. */
export const KEY_LABEL_MAX_LENGTH = 100;

// ## DNS, where the relay is the authority for challenges

/** Questions for challenges of other relays that the store is asked at a time; strangers who ask more get none. */
export const CHALLENGE_LOOKUPS_MAX = 32;

/** Bytes of a DNS query: a name is 255 at most, and what else resolvers send is some tens. */
export const DNS_QUERY_MAX_BYTES = 512;
/** Bytes of a DNS response over UDP: larger ones are lost where they are fragmented (the advice of dnsflagday.net, 2020). */
export const DNS_UDP_MAX_BYTES = 1232;
/** Times the length of its query that a DNS response over UDP may have, so that nobody is flooded with responses. */
export const DNS_UDP_FACTOR = 4;
/** DNS queries that a network may send in a minute: a validation takes ten at most, from each of an authority's networks. */
export const DNS_QUERIES_PER_MINUTE = 600;
/** Those at once. */
export const DNS_QUERIES_BURST = 100;
/** DNS queries that wait for the store, and responses that wait for the network. */
export const DNS_WAITING_MAX = 1024;
/** ms for which challenges are remembered that were read from the store. */
export const DNS_TEXTS_MS = 500;
/** Connections with DNS queries at a time, on each address; the oldest goes when there are more. */
export const DNS_CONNECTIONS_MAX = 128;
/** Those of one network. */
export const DNS_CONNECTIONS_OF_ONE_MAX = 16;
/** ms until the next query of such a connection must be complete. */
export const DNS_CONNECTION_IDLE_MS = 5000;
/** ms that a DNS server has for an answer, the first time. */
export const DNS_TRY_MS = 2000;
/** Times that a question is sent. */
export const DNS_TRIES = 2;
/** ms after which an answer is waited for no longer, however often servers lead on to others. */
export const DNS_ANSWER_MS = 8000;
/** Values of an answer that are shown to whoever asked for a domain to be looked at; the DNS may have any number. */
export const DNS_SHOWN_MAX = 4;
/** Characters of each. */
export const DNS_SHOWN_LENGTH = 100;

// ## Domains

/** Domains that are looked at at a time because somebody asks for it; each takes six questions. */
export const DOMAIN_LOOKS_MAX = 32;
/** Those of one account: with its calls a minute, it keeps few of them busy for long. */
export const DOMAIN_LOOKS_OF_ONE_MAX = 8;
/** Times that an account may add a domain or have one looked at in a minute in the long run. */
export const DOMAIN_CALLS_PER_MINUTE = 20;
/** Times at once. */
export const DOMAIN_CALLS_BURST = 10;
/** ms between two looks at a verified domain. */
export const DOMAIN_CHECK_MS = 24 * 3600_000;
/** ms by which that is more or less, so that domains that were verified together are not looked at together for ever. */
export const DOMAIN_CHECK_JITTER_MS = 2 * 3600_000;
/** ms for which the records of a verified domain may be wrong before it is let go. */
export const DOMAIN_GRACE_MS = 7 * 24 * 3600_000;
/** ms for which a domain is claimed that is not verified. */
export const DOMAIN_CLAIM_MS = 30 * 24 * 3600_000;
/** ms between two looks for domains whose time has come. */
export const DOMAIN_SWEEP_MS = 60_000;
/** Domains that a relay takes at a time to look at them: 70,000 a day. */
export const DOMAIN_SWEEP_BATCH = 50;
/** Those that it looks at at the same time. */
export const DOMAIN_SWEEP_AT_ONCE = 8;
/** ms after which another relay looks at a domain that a relay has taken and said nothing about: it has died. */
export const DOMAIN_SWEEP_LEASE_MS = 3600_000;
/** Domains that are read from the store in one query; all of them are in memory, some 200 bytes each. */
export const DOMAINS_BATCH = 1000;
/** ms until a store that has failed is asked again whose domains are. */
export const DOMAIN_RETRY_MS = 1000;
/** ms for which the addresses of the relay are remembered, which are shown as records of some domains. */
export const OWN_ADDRESSES_MS = 5 * 60_000;

// ## Administration

/** ms for which it is kept that a tunnel was closed by whoever runs the relay: a relay hears of it within a second. */
export const CLOSED_TUNNELS_KEPT_MS = 3_600_000;
/** Administrative acts that are kept however old they are, the newest; also how many can be listed at once. */
export const AUDIT_MAX = 10_000;
/** ms for which every administrative act is kept, however many follow it: long enough for a yearly review. */
export const AUDIT_KEPT_MS = 365 * 24 * 3_600_000;
/**
 * Acts that the keys of one account can add to the audit log in 24 h. An act that cannot be recorded is refused, so nobody
 * can push an entry out. A year of them takes about 300 MB.
 */
export const AUDIT_ACTS_PER_DAY = 2000;
/** ms for which the removal of a verified domain is remembered, for restores of older backups. */
export const ENDED_DOMAIN_KEPT_MS = 400 * 24 * 3_600_000;
/** Removals of verified domains that are remembered for each account, the newest. */
export const ENDED_DOMAINS_MAX = 1000;
/** ms for which the end of a tunnel that was taken over is remembered at least: its life may have been longer before. */
export const ENDED_TAKEN_OVER_KEPT_MS = 30 * 24 * 3_600_000;
/** Characters of the reason of a suspension. */
export const REASON_MAX_LENGTH = 200;
/** Accounts that one command makes. */
export const ACCOUNTS_AT_ONCE_MAX = 1000;
/** Invitations that an address may look at or take in a minute: they cannot be guessed, and each costs a look into the store. */
export const INVITE_TRIES_PER_MINUTE = 30;
/** The longest life of an invitation, in seconds. */
export const INVITE_TTL_CEILING_SECONDS = 90 * 24 * 3600;
/** Invitations that one command makes. */
export const INVITES_AT_ONCE_MAX = 1000;

// ## `culvert-relay doctor`

/** ms that `culvert-relay doctor` gives each of its checks. */
export const DIAGNOSIS_CHECK_MS = 15_000;
/** ms that it waits for an answer. */
export const DIAGNOSIS_ANSWER_MS = 10_000;
/** Characters of an answer that it reads; the description of the API has some 150,000. */
export const DIAGNOSIS_ANSWER_MAX_BYTES = 1024 * 1024;
/** ms within which the first piece of a response has to arrive while the second one is held back. */
export const DIAGNOSIS_PIECE_MS = 3000;
/** Seconds for which it lets a response be silent at most, so that it ends on the day on which it was begun. */
export const DIAGNOSIS_IDLE_MAX_SECONDS = 30 * 60;
/** ms after which an account of the doctor is one that it could not remove: longer than it looks. */
export const DIAGNOSIS_LEFTOVER_MS = 3_600_000;
/** ms by which the clock may differ from that of another machine: members of a cluster and proofs allow for that much. */
export const DIAGNOSIS_CLOCK_OFF_MS = 10_000;
/** ms after which a copy of the database is old. */
export const BACKUP_OLD_MS = 7 * 24 * 3_600_000;
/** ms before its end at which a certificate should have been renewed long ago. */
export const CERTIFICATE_ENDING_MS = 14 * 24 * 3_600_000;

// ## Certificates

/** Bytes of a response of a certificate authority: a chain has some 6 KB. */
export const ACME_ANSWER_MAX_BYTES = 128 * 1024;
/** ms until such a response is complete. */
export const ACME_REQUEST_TIMEOUT_MS = 20_000;
/** The longest that an authority's `Retry-After` is obeyed, in ms. */
export const ACME_RETRY_AFTER_MAX_MS = 24 * 3_600_000;
/** Nonces of an authority that are kept for the next requests. */
export const ACME_NONCES_MAX = 16;
/** Times that a request is sent again because the authority did not like its nonce. */
export const ACME_NONCE_RETRIES = 8;
/** ms after which an order is given up, and another may begin. */
export const ACME_ORDER_TIMEOUT_MS = 120_000;
/** Certificates of a chain. */
export const ACME_CHAIN_MAX = 10;
/** ms until a certificate that could not be had is tried for again, doubled for each failure in a row. Authorities allow five an hour. */
export const ORDER_RETRY_MS = 180_000;
/** The most that this is doubled to, in ms. */
export const ORDER_RETRY_MAX_MS = 12 * 3_600_000;
/** ms for which an authority that cannot be used is left alone, doubled for each time in a row. */
export const AUTHORITY_RETRY_MS = 10_000;
/** The most that this is doubled to, in ms. */
export const AUTHORITY_RETRY_MAX_MS = 3_600_000;
/** Orders that a relay has under way at a time. */
export const ORDERS_AT_ONCE = 32;
/** Orders in an hour, unless the operator says otherwise. */
export const ORDERS_PER_HOUR = 20;
/** The most that an operator can say: Let's Encrypt takes 300 in three hours. */
export const ORDERS_PER_HOUR_CEILING = 1000;
/** Names that are remembered because it would be in vain to order for them now; some 2 MB. */
export const REFUSED_NAMES_MAX = 10_000;
/** Certificates that are ready for handshakes; some 70 MB. Others are read from the store again. */
export const CONTEXTS_MAX = 2000;
/** Certificates that are read from the store at a time; handshakes that need more get none. */
export const CERTIFICATE_READS_MAX = 256;
/** Handshakes that wait while a certificate is ordered. */
export const CERTIFICATE_WAITS_MAX = 512;
/** Those that wait for one name. */
export const CERTIFICATE_WAITS_PER_NAME_MAX = 32;
/** Those among them for names of one account: an owner of many names must not keep other people's visitors from theirs. */
export const CERTIFICATE_WAITS_PER_ACCOUNT_MAX = 64;
/** ms for which they wait: as long as browsers do. */
export const CERTIFICATE_WAIT_MS = 30_000;
/** Connections to the port for plain HTTP at a time. */
export const HTTP_PORT_CONNECTIONS_MAX = 1024;
/** Bytes of a head there. */
export const HTTP_PORT_HEAD_MAX_BYTES = 8 * 1024;
/** ms for a request there, or for its response to be read. */
export const HTTP_PORT_REQUEST_MS = 10_000;
/** ms that a connection there waits for another request. */
export const HTTP_PORT_IDLE_MS = 5000;
/** Requests of a connection there. */
export const HTTP_PORT_REQUESTS_MAX = 100;
/** Domains of which that is remembered; some 2 MB. */
export const DELEGATIONS_KNOWN_MAX = 10_000;
/** ms for which a visitor's handshake may wait for a resolver that is asked for a delegation. */
export const DELEGATION_LOOKUP_MS = 5000;
