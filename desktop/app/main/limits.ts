/** Every limit of the app's main process, with its reason. Times are in ms. */
import { KNOCK_SECONDS } from '../../../shared/knocks.ts';

/** A host name has at most 253 characters; scheme and port come on top. */
export const RELAY_MAX_CHARS = 300;
/** The address of a relay, and 40 characters. */
export const INVITATION_MAX_CHARS = 340;
/** A key has at most 204 characters; spaces around it are tolerated. */
export const KEY_MAX_CHARS = 300;
/** The key of a tunnel in the list of the window: a UUID. */
export const TUNNEL_KEY_MAX_CHARS = 64;
/** A lifetime as people type it, such as `30m`. */
export const TTL_MAX_CHARS = 32;
/** What is typed to find requests: more than anybody types. */
export const SEARCH_MAX_CHARS = 200;
/** The longest path on Windows; other systems have shorter ones. */
export const PATH_MAX_CHARS = 32_767;
/** Ids that a relay gives to links and to who knocks. */
export const RELAY_ID_MAX_CHARS = 64;

/** A person can follow only a few changes in a second, and each costs the page a rendering. */
export const SNAPSHOT_INTERVAL_MS = 250;
/** A menu that is rebuilt while it is open closes on some Linux desktops. */
export const TRAY_INTERVAL_MS = 1000;
/** Requests that a card shows. */
export const RECENT_REQUESTS = 3;
/** Requests of one tunnel that can be listed: about a kilobyte each, besides their messages. */
export const LOG_REQUESTS_MAX = 10_000;
/** Requests that the page is given at once: a few ms of its time. */
export const LOG_PART_MAX = 1000;
/** What of a log is shown: the name of a part of it. */
export const LOG_PART_NAME_MAX_CHARS = 32;
/** Tunnels in the list; the oldest ended ones make room. Plans allow fewer at a time. */
export const TUNNELS_MAX = 200;

/** Tunnels that others have opened, in the list; plans allow fewer at a time. */
export const OTHER_TUNNELS_MAX = 200;

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
/** What that program may print: a line of some 100 bytes for each port and process. */
export const PORT_PROGRAM_MAX_BYTES = 4 * 1024 * 1024;
/** Processes that are examined; a busy desktop has some 500. */
export const PROCESSES_MAX = 3000;
/** Open files that are examined of each: a server with many clients would otherwise make each look take seconds. */
export const PROCESS_FILES_MAX = 1000;
/** A larger package.json is not read to guess a framework. */
export const MANIFEST_MAX_BYTES = 256 * 1024;

/** Shows "expires in 5 minutes". */
export const EXPIRY_NOTICE_MS = 5 * 60_000;
/** A connection that is back sooner is not worth a notification. */
export const LOST_NOTICE_MS = 30_000;
/** How often a tunnel's time and connection are checked for notifications. */
export const NOTICE_TICK_MS = 5000;

/** A relay sends a visitor away who has knocked and was not answered for this long. */
export const APPROVAL_WAIT_MS = KNOCK_SECONDS * 1000;
/** Visitors that wait at a tunnel; a relay lets no more wait. */
export const APPROVALS_MAX = 32;
/** While more than these wait at a tunnel, no further notification is shown: the window has them all. */
export const APPROVAL_NOTICES_MAX = 3;

/** How often the network of this machine is checked. */
export const NETWORK_INTERVAL_MS = 3000;

/** For how long a stop, a removal, an emptied log or a sign-out can be taken back; until then the relay keeps the tunnel. */
export const UNDO_MS = 8000;
/** Projects that are offered again: what a person works on at a time. */
export const RECENT_PROJECTS_MAX = 5;

/** A UUID, as undos and invitations have. */
export const OWN_ID_MAX_CHARS = 64;

/** Relays that are asked at a time whom an invitation is for: anything can open links, and each waits for its relay. */
export const INVITATION_LOOKS_MAX = 4;

/** Secrets of one service for one tunnel: the one in use, and others as long as they are replaced. */
export const SIGNING_SECRETS_MAX = 4;
/** Those that services give have at most some 80 characters; GitHub takes what people make up. */
export const SIGNING_SECRET_MAX_CHARS = 300;
/** A UUID. */
export const SIGNING_SECRET_ID_MAX_CHARS = 64;

/** Closing every tunnel at quit: one REST call each, at the same time; after that the app quits all the same. */
export const QUIT_TIMEOUT_MS = 5000;

/** First check for an update after the start, so that it does not slow the start down. */
export const UPDATE_FIRST_MS = 60_000;
/** How often an update is looked for after that; releases are days apart. */
export const UPDATE_INTERVAL_MS = 4 * 3_600_000;
/** How often a downloaded update looks for a moment at which no tunnel is online. */
export const UPDATE_RETRY_MS = 60_000;

/** Characters of a domain, and of a part of its records. */
export const DOMAIN_TEXT_MAX_CHARS = 300;
/** The longest is a body of 1 MiB whose every byte is a character, or the path to a value that is nested as deeply. */
export const COPIED_TEXT_MAX_CHARS = 4 * 1024 * 1024;

/** A HAR that is written: what `culvert inspect import` takes. */
export const HAR_MAX_BYTES = 32 * 1024 * 1024;

/** Each part of an edited request, as the window sends it: twice what a body takes, so that whoever pastes too much is told how much. */
export const EDIT_TEXT_MAX_CHARS = 128 * 1024;
/** A `curl` command that is pasted: the largest body with each byte written as four characters, or a small HAR. */
export const IMPORT_TEXT_MAX_CHARS = 256 * 1024;

/** Sets of requests: a service sends some twenty kinds of webhooks, and a person works on a few services. */
export const REQUEST_SETS_MAX = 50;
/** Requests of one set; all of them are sent one after another. */
export const SET_REQUESTS_MAX = 200;
/** Characters of a set's name: a line of the window. */
export const SET_NAME_MAX_CHARS = 60;
/** All sets as text, with bodies as base64: some hundred requests with the largest bodies. It is encrypted and written whole. */
export const REQUEST_SETS_MAX_BYTES = 16 * 1024 * 1024;
