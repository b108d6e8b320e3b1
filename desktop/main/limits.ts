/** Every limit of the app's main process, with its reason. Times are in ms. */
import { KNOCK_SECONDS } from '../../shared/knocks.ts';

/** A host name has at most 253 characters; scheme and port come on top. */
export const RELAY_MAX_CHARS = 300;
/** A key has at most 204 characters; spaces around it are tolerated. */
export const KEY_MAX_CHARS = 300;
export const TUNNEL_KEY_MAX_CHARS = 64;
export const TTL_MAX_CHARS = 32;
export const SEARCH_MAX_CHARS = 200;
/** Ids that a relay gives to links and to who knocks. */
export const RELAY_ID_MAX_CHARS = 64;

/** A person can follow only a few changes in a second, and each costs the page a rendering. */
export const SNAPSHOT_INTERVAL_MS = 250;
/** A menu that is rebuilt while it is open closes on some Linux desktops. */
export const TRAY_INTERVAL_MS = 1000;
/** Requests that a card shows. */
export const RECENT_REQUESTS = 3;
/** Tunnels in the list; the oldest ended ones make room. Plans allow fewer at a time. */
export const TUNNELS_MAX = 200;

/** While somebody looks: counters move at the pace at which the relay itself counts. */
export const POLL_VISIBLE_MS = 2000;
/** While nobody looks: often enough that "expires in 5 minutes" is shown for an idle tunnel at the right time. */
export const POLL_HIDDEN_MS = 30_000;
/** How often ports are looked for while somebody looks. */
export const PORTS_INTERVAL_MS = 4000;
/** Ports that the window is told of, to offer and to say who is there; a busy computer has fewer. */
export const PORTS_MAX = 200;
/** A program that lists ports takes well under a second. */
export const PORT_PROGRAM_TIMEOUT_MS = 5000;
export const PORT_PROGRAM_MAX_BYTES = 4 * 1024 * 1024;
/** Processes that are examined; a busy desktop has some 500. */
export const PROCESSES_MAX = 3000;
/** A larger package.json is not read to guess a framework. */
export const MANIFEST_MAX_BYTES = 256 * 1024;

/** Shows "expires in 5 minutes". */
export const EXPIRY_NOTICE_MS = 5 * 60_000;
/** A connection that is back sooner is not worth a notification. */
export const LOST_NOTICE_MS = 30_000;
/** How often a tunnel's time and connection are checked for notifications. */
export const NOTICE_TICK_MS = 5000;

/** A relay sends a visitor away who has knocked and was not answered for this long. */
export const KNOCK_WAIT_MS = KNOCK_SECONDS * 1000;
/** Visitors that wait at a tunnel; a relay lets no more wait. */
export const KNOCKS_MAX = 32;
/** While more than these wait at a tunnel, no further notification is shown: the window has them all. */
export const KNOCK_NOTICES_MAX = 3;

/** How often the network of this machine is checked. */
export const NETWORK_INTERVAL_MS = 3000;

/** Closing every tunnel at quit: one REST call each, at the same time; after that the app quits all the same. */
export const QUIT_TIMEOUT_MS = 5000;

/** First check for an update after the start, so that it does not slow the start down. */
export const UPDATE_FIRST_MS = 60_000;
export const UPDATE_INTERVAL_MS = 4 * 3_600_000;
/** How often a downloaded update looks for a moment at which no tunnel is online. */
export const UPDATE_RETRY_MS = 60_000;
