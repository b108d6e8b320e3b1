/** Every limit of the app's main process, and of its server for browsers, with its reason. Times are in ms. */
import { MACHINE_MAX_LENGTH } from '../../../shared/team.ts';
import { IMPORT_MAX_BYTES } from '../../client/limits.ts';

/** Maximum length of a relay's URL: a host name has at most 253; scheme and port come on top. */
export const RELAY_MAX_CHARS = 300;
/** Maximum length of an invitation link: the URL of a relay, and 40 characters. */
export const INVITATION_MAX_CHARS = 340;
/** Maximum length of a typed API key: a key has at most 204; spaces around it are tolerated. */
export const KEY_MAX_CHARS = 300;
/** Maximum length of a tunnel's internal id in the window's list: a UUID. */
export const TUNNEL_KEY_MAX_CHARS = 64;
/** Maximum length of a typed lifetime, such as `30m`. */
export const TTL_MAX_CHARS = 32;
/** Maximum length of a file path: the longest on Windows; other systems have shorter ones. */
export const PATH_MAX_CHARS = 32_767;
/** Maximum length of an id that a relay assigns to a link or an approval request. */
export const RELAY_ID_MAX_CHARS = 64;

/**
 * Minimum interval between two updates of the window: a person can follow only a few changes in a second, and each
 * costs the page a rendering.
 */
export const SNAPSHOT_INTERVAL_MS = 250;
/**
 * Minimum interval between two updates of the tray menu: a menu that is rebuilt while it is open closes on some Linux
 * desktops.
 */
export const TRAY_INTERVAL_MS = 1000;
/** Number of recent requests shown on a tunnel's card. */
export const RECENT_REQUESTS = 3;
/** Maximum number of one tunnel's requests that the window can list: about a kilobyte each, excluding their bodies. */
export const LOG_REQUESTS_MAX = 10_000;
/** Maximum number of requests sent to the window at a time: a few ms of its time. */
export const LOG_PART_MAX = 1000;
/** Maximum length of the name of a request log filter. */
export const LOG_PART_NAME_MAX_CHARS = 32;
/**
 * Maximum number of the user's own tunnels in the window's list; the oldest ended ones make room. Plans allow fewer at
 * a time.
 */
export const TUNNELS_MAX = 200;

/**
 * Maximum number of tunnels opened by other programs or computers in the window's list; plans allow fewer at a time.
 */
export const OTHER_TUNNELS_MAX = 200;

/**
 * Interval at which the app asks the relay for traffic counters while the window is visible: they are updated at the
 * relay's own pace.
 */
export const POLL_VISIBLE_MS = 2000;
/**
 * Interval at which the app asks the relay for traffic counters while the window is hidden: often enough that "expires
 * in 5 minutes" is shown for an idle tunnel at the right time.
 */
export const POLL_HIDDEN_MS = 30_000;
/** How often ports are looked for while somebody looks. */
export const PORTS_INTERVAL_MS = 4000;
/**
 * Maximum number of open ports reported to the window, as suggestions and to name the programs on them; a busy computer
 * has fewer.
 */
export const PORTS_MAX = 200;
/** How long the system program that lists open ports may take: it takes well under a second. */
export const PORT_PROGRAM_TIMEOUT_MS = 5000;
/**
 * Maximum amount of output that is read from the system program that lists open ports: a line of about 100 bytes for
 * each port and process.
 */
export const PORT_PROGRAM_MAX_BYTES = 4 * 1024 * 1024;
/**
 * Maximum number of processes that are examined to find the program that is using a port; a busy desktop has about 500.
 */
export const PROCESSES_MAX = 3000;
/**
 * Maximum number of open files per process that are examined to find the program that is using a port: a server with
 * many clients would otherwise make each look take seconds.
 */
export const PROCESS_FILES_MAX = 1000;
/** Maximum size of a `package.json` that is read to guess the framework. */
export const MANIFEST_MAX_BYTES = 256 * 1024;

/** Remaining lifetime at which the app shows the notification "expires in 5 minutes". */
export const EXPIRY_NOTICE_MS = 5 * 60_000;
/** How long a tunnel must be offline before a notification appears. */
export const LOST_NOTICE_MS = 30_000;
/** How often a tunnel's time and connection are checked for notifications. */
export const NOTICE_TICK_MS = 5000;

/**
 * Maximum number of a tunnel's pending approval requests that are shown as notifications; the window lists all of them.
 */
export const APPROVAL_NOTICES_MAX = 3;

/** How often the network of this machine is checked. */
export const NETWORK_INTERVAL_MS = 3000;

/** How long you can undo a stop, a removal, a cleared log or a sign-out; until then the relay keeps the tunnel. */
export const UNDO_MS = 8000;
/** Number of recent projects that the window offers: what a person works on at a time. */
export const RECENT_PROJECTS_MAX = 5;

/** Maximum length of an id that the app itself generates: a UUID, as undos and invitations have. */
export const OWN_ID_MAX_CHARS = 64;

/**
 * Maximum number of invitations that the app looks up at the same time: anything can open links, and each waits for its
 * relay.
 */
export const INVITATION_LOOKS_MAX = 4;

/**
 * Maximum number of signing secrets that a tunnel can have for one service: the one in use, and others as long as they
 * are replaced.
 */
export const SIGNING_SECRETS_MAX = 4;
/**
 * Maximum length of a signing secret: those generated by services have at most about 80; at GitHub, users choose their
 * own.
 */
export const SIGNING_SECRET_MAX_CHARS = 300;
/** Maximum length of the internal id of a signing secret: a UUID. */
export const SIGNING_SECRET_ID_MAX_CHARS = 64;

/**
 * Maximum time to close all tunnels when the app quits: one REST call each, at the same time; after that the app
 * quits anyway.
 */
export const QUIT_TIMEOUT_MS = 5000;

/** How long after startup the app first checks for an update, so that the check does not slow the start down. */
export const UPDATE_FIRST_MS = 60_000;
/** How often an update is looked for after that; releases are days apart. */
export const UPDATE_INTERVAL_MS = 4 * 3_600_000;
/** How often a downloaded update checks whether all tunnels are offline. */
export const UPDATE_RETRY_MS = 60_000;

/** Maximum length of a domain or of one value in its DNS records. */
export const DOMAIN_TEXT_MAX_CHARS = 300;
/**
 * Maximum length of text that is copied to the clipboard: the longest is a body of 1 MiB whose every byte is a
 * character, or the path to a value that is nested as deeply.
 */
export const COPIED_TEXT_MAX_CHARS = 4 * 1024 * 1024;

/** Maximum size of an exported HAR file: what `culvert inspect import` takes. */
export const HAR_MAX_BYTES = 32 * 1024 * 1024;

/**
 * Maximum length of each part of an edited request that the window sends: twice the body limit, so that an error can
 * state the real size.
 */
export const EDIT_TEXT_MAX_CHARS = 128 * 1024;
/**
 * Maximum length of a pasted `curl` command: the largest body with each byte written as four characters, or a small
 * HAR.
 */
export const IMPORT_TEXT_MAX_CHARS = 256 * 1024;

/** Maximum length of the label of an invitation, which becomes the label of a key: what the relay accepts. */
export const MEMBER_LABEL_MAX_CHARS = MACHINE_MAX_LENGTH;
/** Maximum number of keys, and of open invitations, of a team that the window lists; a team has some dozens. */
export const TEAM_ROWS_MAX = 500;
/** Maximum number of entries of a team's audit log that the window shows; `culvert team audit` shows all of them. */
export const TEAM_ACTS_MAX = 20;

/** How long a program that holds the lock on the data has to say what it is. */
export const LOCK_ANSWER_TIMEOUT_MS = 2000;
/** Maximum size of that answer. */
export const LOCK_ANSWER_MAX_BYTES = 4096;

// ## The window in a browser

/** The port of the window in a browser: users of other tunnel clients know it for that. */
export const UI_PORT = 4040;
/** Number of ports that are tried, from that one on, if nobody asked for one: more windows than a person has open. */
export const UI_PORTS_TRIED = 20;
/** Maximum number of connections: each page has one WebSocket, and loads its few files over six more. */
export const UI_CONNECTIONS_MAX = 128;
/** Maximum number of pages at the same time: more than a person looks at, and each gets every snapshot. */
export const UI_PAGES_MAX = 16;
/** Maximum number of sessions; the oldest ends. A browser needs one for each link that is opened. */
export const UI_SESSIONS_MAX = 32;
/** Maximum number of links that were shown and not opened; the oldest becomes invalid. */
export const UI_TOKENS_MAX = 8;
/** How long a browser has to send a request: it is on this machine, or at the other end of an SSH forward. */
export const UI_REQUEST_TIMEOUT_MS = 10_000;
/** How long a connection stays open without a request. */
export const UI_IDLE_TIMEOUT_MS = 5000;
/** Maximum size of a request's head: a browser also sends the cookies of other programs on this machine. */
export const UI_HEAD_MAX_BYTES = 16 * 1024;
/** Maximum size of the body that exchanges a token: it has about 40 bytes. */
export const UI_BODY_MAX_BYTES = 256;
/** Maximum size of a message from a page: a file to import is the largest. */
export const UI_MESSAGE_MAX_BYTES = IMPORT_MAX_BYTES + 1024;
/** Maximum amount that waits for a page that does not read: the largest export, in JSON. */
export const UI_BACKLOG_MAX_BYTES = 128 * 1024 * 1024;
/** How often a page is asked for a sign of life; without one, it is gone by the next time. */
export const UI_PING_MS = 30_000;
/** How long the browser has for what needs no answer of its user. */
export const UI_ASK_TIMEOUT_MS = 10_000;
/** How long the user has to choose a file or a folder. */
export const UI_CHOICE_TIMEOUT_MS = 10 * 60_000;
/** Maximum length of the path of a folder, and of the name of a file: paths are limited to this by systems. */
export const UI_NAME_MAX_CHARS = 32_767;
/** Maximum number of languages that a page reports. */
export const UI_LANGUAGES_MAX = 16;
/** Maximum length of the tag of a language. */
export const UI_LANGUAGE_MAX_CHARS = 35;
