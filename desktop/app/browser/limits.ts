/** Every limit of the server for browsers, with its reason. Times are in ms. */
import { IMPORT_MAX_BYTES } from '../../client/limits.ts';

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
