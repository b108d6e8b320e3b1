/** Every limit of the command, with its reason. Times are in ms. */

/**
 * Maximum number of characters read from standard input: the longest key has 204, the longest password 128; longer text
 * is something else.
 */
export const INPUT_MAX = 4096;

/** Interval at which the view is redrawn: faster than anybody reads, slow enough to cost nothing. */
export const VIEW_DRAW_MS = 250;
/** How often the relay is asked for expiry and counters while nothing happens, because others may extend the tunnel. */
export const VIEW_REFRESH_MS = 10_000;
/**
 * Interval at which the view asks the relay for expiry times and counters while requests are arriving: the relay's
 * counters are at most 1 s behind.
 */
export const VIEW_REFRESH_BUSY_MS = 2000;
/** How long the view shows a problem after it last occurred. */
export const VIEW_PROBLEM_MS = 30_000;

/** How long the view shows the result of a keystroke. */
export const VIEW_NOTE_MS = 5000;
/** Maximum number of characters in a request search: more than anybody types. */
export const LOG_SEARCH_MAX = 200;

/** How long the view shows an approval request: the relay denies it after that. */
export const VIEW_KNOCK_MS = 5 * 60_000;
/** Maximum number of approval requests listed per tunnel; the relay queues no more than these. */
export const VIEW_KNOCKS_MAX = 32;

/** How long the command of `culvert run` has to end after SIGTERM or SIGHUP, as long as container runtimes give. */
export const TERMINATION_MS = 10_000;
/** How long programs that the command of `culvert run` has left behind have to end. */
export const LEFTOVERS_MS = 2000;
/** How often is looked whether they have. */
export const LEFTOVER_LOOK_MS = 50;
/** Maximum size of a `package.json`, and of a file of git, that `culvert run` reads. */
export const PACKAGE_FILE_MAX_BYTES = 1024 * 1024;

/** How long a program of the system, such as `systemctl`, may take; stopping a service is the longest. */
export const SYSTEM_COMMAND_MS = 60_000;
/** How long a service waits before it is started again after a failure. */
export const SERVICE_RESTART_SECONDS = 10;
/** How long a service has to close its tunnels: longer than the relay has to answer. */
export const SERVICE_STOP_SECONDS = 20;
/** Longest first wait of a service's tunnel that ended, before it is created again. */
export const REOPEN_BASE_MS = 1000;
/** Longest wait of a service's tunnel, so that it is back soon after the network or the relay. */
export const REOPEN_CAP_MS = 30_000;
/** Size above which a service begins a new log file. It keeps one old file, and systemd limits its journal itself. */
export const SERVICE_LOG_MAX_BYTES = 5 * 1024 * 1024;
/** Maximum number of characters of a folder's name in the name of its service. */
export const SERVICE_FOLDER_MAX = 32;
/** Maximum size of the file that a service keeps its settings in. */
export const SERVICE_FILE_MAX_BYTES = 1024 * 1024;

// ## Agents

/** Longest message that `culvert mcp` reads: an edited body of 64 KiB, even if each of its characters is escaped. */
export const MCP_MESSAGE_MAX_BYTES = 1024 * 1024;
/** Maximum number of tool calls that `culvert mcp` runs at a time. More are refused. */
export const MCP_CALLS_MAX = 32;
/** Maximum number of `wait_for_request` calls at a time, so that waiting leaves room for other calls. */
export const MCP_WAITS_MAX = 16;
/** Maximum number of tunnels that `culvert mcp` serves at a time. */
export const MCP_TUNNELS_MAX = 8;
/** How much output may wait for a client that does not read, before `culvert mcp` stops reading its messages. */
export const MCP_OUTPUT_MAX_BYTES = 1024 * 1024;
/** Maximum size of a body in a result of `culvert mcp`: longer ones would fill the context of a language model. */
export const MCP_BODY_MAX_BYTES = 16 * 1024;
/** Maximum number of requests in one result of `list_requests`. */
export const MCP_LISTED_MAX = 50;
/** How long `wait_for_request` waits by default: less than the minute after which many MCP clients give up. */
export const MCP_WAIT_DEFAULT_SECONDS = 45;
/** Longest time that `wait_for_request` waits. */
export const MCP_WAIT_MAX_SECONDS = 600;
/** How often a client that asks for progress hears that a call is still running: clients give up after a minute of silence. */
export const MCP_PROGRESS_MS = 15_000;
/** How long an MCP client that cannot be served has to ask, so that it hears why: they ask when they start the server. */
export const MCP_REFUSAL_MS = 10_000;
/** How long a new tunnel of `culvert mcp` may take to come online before it is closed again. */
export const MCP_OPEN_TIMEOUT_MS = 45_000;
/** How long `culvert mcp --ask` waits for a person. Without an answer, the action is refused. */
export const MCP_ASK_TIMEOUT_MS = 5 * 60_000;
/** Maximum number of questions of `culvert mcp --ask` that wait for a person. More are refused. */
export const MCP_QUESTIONS_MAX = 8;
