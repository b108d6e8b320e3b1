/** How long a visitor's connection may take for each of its steps, over HTTP/1.1 and HTTP/2. */

/**
 * How long an idle connection stays open after SIGTERM for a request that is already on its way: more than a
 * round trip.
 */
export const DRAIN_IDLE_MS = 1000;
/** How long a relay keeps an idle visitor connection open after a new process has replaced it. */
export const REPLACED_IDLE_MS = 10_000;
/**
 * How long a request's headers may take to arrive after their first byte (protocol.md section 4.5: 408 after).
 * @limit visitor: Time to send the request headers | 408 `request-timeout`
 */
export const HEAD_TIMEOUT_MS = 15_000;
/**
 * How long the relay waits for more of an unfinished request body before a response begins (protocol.md section
 * 4.5: 408 after), and after the response is complete.
 * @limit visitor: Pause while sending a request body, before the response begins | 408 `request-timeout`
 */
export const BODY_TIMEOUT_MS = 60_000;
/**
 * How long a visitor can go without reading while data is waiting (protocol.md section 4.5).
 * @limit visitor: Time without reading while a response is waiting | the connection is closed
 */
export const STALL_TIMEOUT_MS = 60_000;
/**
 * How long a visitor that has closed its side of the connection can go without receiving anything before the
 * relay considers it gone (protocol.md section 4.5). Long enough for a slow response: until something is sent, a
 * half-closed connection looks the same as one that was closed.
 */
export const LEAVE_TIMEOUT_MS = 10_000;
/**
 * How long a connection may stay open without a request. More than the usual 60 s of reverse proxies.
 * @limit visitor: Time between two requests on a connection | the connection is closed
 */
export const IDLE_TIMEOUT_MS = 75_000;
/**
 * How long a visitor that was sent a complete response may be silent before its connection is closed. While it
 * sends, closing would take the response away from it.
 */
export const LINGER_TIMEOUT_MS = 2000;
/** How long a visitor may keep sending after it was sent a complete response; what it sends is thrown away. */
export const LINGER_MAX_MS = 30_000;
/**
 * How long a response may continue after the access policy has stopped allowing its visitor: as long as at a
 * shutdown, to finish a download.
 */
export const BARRED_RESPONSE_MS = 30_000;
/** How long a reset may go unnoticed on a connection to a TLS or TCP tunnel while it is not read. */
export const RESET_LOOK_MS = 10_000;
/**
 * How long bytes of a TLS or TCP tunnel wait for a visitor or a service who takes none, once the service has ended. Longer
 * than a system keeps them for a program that has closed, and than it retries to reach a peer that is gone.
 * @limit visitor: Time without reading after a TLS or TCP service has ended | the connection is reset
 */
export const ENDED_STALL_MS = 1_800_000;
/** How long a TLS handshake may take: a few round trips, on a slow network. */
export const TLS_HANDSHAKE_TIMEOUT_MS = 10_000;
/** Milliseconds between two checks of the deadlines of connections. */
export const DEADLINE_TICK_MS = 500;
