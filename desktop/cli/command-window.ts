/** The window of a command in a browser, from `--ui` or the key `w` until the command ends. */
import { homedir } from 'node:os';
import type { CommandTunnel, OpenCommandWindow, TunnelListener } from '../app/browser/command-window.ts';
import type { RelayAccess } from '../client/config/relay-access.ts';
import type { TunnelState } from '../client/control/tunnel-session.ts';
import { describeFailure } from '../client/failures.ts';
import { hasBrowser, openFile } from './prompt.ts';

export class CommandWindow {
  readonly #access: RelayAccess;
  readonly #project: string | undefined;
  readonly #tunnels: ShownTunnel[] = [];
  #opening: Promise<OpenCommandWindow> | undefined;
  #opened: OpenCommandWindow | undefined;
  #token = '';

  /** @param project name of the project that the tunnels are from, if there is one */
  constructor(access: RelayAccess, project?: string) {
    this.#access = access;
    this.#project = project;
  }

  /** Shows a tunnel, now or once the window is open. @returns whom to tell what happens to the tunnel */
  show(tunnel: Pick<CommandTunnel, 'spec' | 'tunnel' | 'log' | 'replayer' | 'wake'>): TunnelListener {
    const shown = new ShownTunnel({ ...tunnel, project: this.#project });
    this.#tunnels.push(shown);
    this.#opened?.add(shown);
    return shown;
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
    this.#opening ??= this.#load(say);
    try {
      return await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  /** Most commands never need it, so it is loaded late. */
  async #load(say: (text: string) => void): Promise<OpenCommandWindow> {
    const { openCommandWindow } = await import('../app/browser/command-window.ts');
    const machine = { platform: process.platform, env: process.env, home: homedir() };
    const window = await openCommandWindow(machine, this.#access, say);
    this.#opened = window;
    for (const tunnel of this.#tunnels) window.add(tunnel);
    return window;
  }
}

/** A tunnel of the command, and the state that it has. */
class ShownTunnel implements CommandTunnel, TunnelListener {
  readonly spec: CommandTunnel['spec'];
  readonly tunnel: CommandTunnel['tunnel'];
  readonly log: CommandTunnel['log'];
  readonly replayer: CommandTunnel['replayer'];
  readonly project: CommandTunnel['project'];
  readonly wake: CommandTunnel['wake'];
  readonly #listeners = new Set<TunnelListener>();
  #state: TunnelState = { name: 'idle' };

  constructor({ spec, tunnel, log, replayer, project, wake }: Omit<CommandTunnel, 'listen'>) {
    this.spec = spec;
    this.tunnel = tunnel;
    this.log = log;
    this.replayer = replayer;
    this.project = project;
    this.wake = wake;
  }

  listen(listener: TunnelListener): () => void {
    this.#listeners.add(listener);
    listener.onState(this.#state);
    return () => void this.#listeners.delete(listener);
  }

  readonly onState: TunnelListener['onState'] = (state) => {
    this.#state = state;
    for (const listener of this.#listeners) listener.onState(state);
  };

  readonly onProblem: TunnelListener['onProblem'] = (problem) => {
    for (const listener of this.#listeners) listener.onProblem(problem);
  };

  readonly onKnock: TunnelListener['onKnock'] = (knock) => {
    for (const listener of this.#listeners) listener.onKnock(knock);
  };
}
