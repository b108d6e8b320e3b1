/** The window of a command in a browser, from `--ui` or the key `w` until the command ends. */
import { homedir } from 'node:os';
import type {
  CommandTunnel,
  openCommandWindow,
  OpenCommandWindow,
  TunnelListener,
} from '../app/browser/command-window.ts';
import type { RelayAccess } from '../client/config/relay-access.ts';
import type { TunnelState } from '../client/control/tunnel-session.ts';
import { describeFailure } from '../client/failures.ts';
import { hasBrowser, openFile } from './output/prompt.ts';

export class CommandWindow {
  readonly #access: RelayAccess;
  readonly #project: string | undefined;
  readonly #load: typeof openCommandWindow;
  /** those that have not ended: a service creates tunnels again and again, each with its own log */
  readonly #tunnels = new Set<CommandTunnel>();
  #opening: Promise<OpenCommandWindow> | undefined;
  #opened: OpenCommandWindow | undefined;
  #token = '';

  /**
   * @param project name of the project that the tunnels are from, if there is one
   * @param load opens the window; most commands never need it, so it is loaded late
   */
  constructor(access: RelayAccess, project?: string, load = loadWindow) {
    this.#access = access;
    this.#project = project;
    this.#load = load;
  }

  /** Shows a tunnel, now or once the window is open. @returns whom to tell what happens to the tunnel */
  show(tunnel: Pick<CommandTunnel, 'spec' | 'tunnel' | 'log' | 'replayer' | 'wake'>): TunnelListener {
    const feed = new TunnelFeed(() => this.#tunnels.delete(shown));
    const shown: CommandTunnel = {
      ...tunnel,
      project: this.#project,
      listen: (listener) => feed.listen(listener),
    };
    this.#tunnels.add(shown);
    this.#opened?.add(shown);
    return feed;
  }

  /** The address of the window, once it is open: a link, until it is used. */
  get address(): string | undefined {
    if (this.#opened === undefined) return undefined;
    const { origin, access } = this.#opened;
    return access.isUnused(this.#token) ? `${origin}/#${this.#token}` : origin;
  }

  /**
   * Opens the window, and the browser if there is one. Does not throw.
   *
   * @param say shows a sentence about what went wrong
   * @returns a new link to the window; `undefined` if it could not be opened
   */
  async open(say: (text: string) => void): Promise<string | undefined> {
    try {
      const window = await this.#start(say);
      this.#token = window.access.createToken();
      const link = `${window.origin}/#${this.#token}`;
      if (hasBrowser(process.env)) openFile(await window.createLinkFile(link), (why) => say(`${why}.`));
      return link;
    } catch (error) {
      say(`The window cannot be opened. ${describeFailure(error)}`);
      return undefined;
    }
  }

  async close(): Promise<void> {
    // One that could not be opened has said so.
    await this.#opening?.then(
      (window) => window.close(),
      () => undefined,
    );
  }

  async #start(say: (text: string) => void): Promise<OpenCommandWindow> {
    this.#opening ??= this.#open(say);
    try {
      return await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  async #open(say: (text: string) => void): Promise<OpenCommandWindow> {
    const machine = { platform: process.platform, env: process.env, home: homedir() };
    const window = await this.#load(machine, this.#access, say);
    this.#opened = window;
    for (const tunnel of this.#tunnels) window.add(tunnel);
    return window;
  }
}

const loadWindow: typeof openCommandWindow = async (...given) => {
  const window = await import('../app/browser/command-window.ts');
  return window.openCommandWindow(...given);
};

/** Passes on what happens to a tunnel, and remembers its state for those who begin to listen later. */
class TunnelFeed implements TunnelListener {
  readonly #listeners = new Set<TunnelListener>();
  readonly #onEnd: () => void;
  #state: TunnelState = { name: 'idle' };

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  listen(listener: TunnelListener): () => void {
    this.#listeners.add(listener);
    listener.onState(this.#state);
    return () => void this.#listeners.delete(listener);
  }

  readonly onState: TunnelListener['onState'] = (state) => {
    this.#state = state;
    for (const listener of this.#listeners) listener.onState(state);
    if (state.name === 'offline') this.#onEnd();
  };

  readonly onProblem: TunnelListener['onProblem'] = (problem) => {
    for (const listener of this.#listeners) listener.onProblem(problem);
  };

  readonly onKnock: TunnelListener['onKnock'] = (knock) => {
    for (const listener of this.#listeners) listener.onKnock(knock);
  };
}
