/** The window of a command in a browser, from `--ui` or the key `w` until the command ends. */
import { homedir } from 'node:os';
import type { openHostWindow, OpenHostWindow } from '../../app/browser/open-window.ts';
import type { RelayAccess } from '../../client/config/relay-access.ts';
import { describeFailure } from '../../client/failures.ts';
import type { Host } from '../../client/host/host.ts';
import { hasBrowser, openFile } from '../output/prompt.ts';

/** Most commands never need the window, so it is loaded late. */
export class HostWindow {
  readonly #access: Pick<RelayAccess, 'relay' | 'key' | 'network'>;
  readonly #host: Host;
  #opening: Promise<OpenHostWindow> | undefined;
  #opened: OpenHostWindow | undefined;
  #token = '';

  /** @param host whose tunnels it shows */
  constructor(access: Pick<RelayAccess, 'relay' | 'key' | 'network'>, host: Host) {
    this.#access = access;
    this.#host = host;
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

  async #start(say: (text: string) => void): Promise<OpenHostWindow> {
    this.#opening ??= this.#open(say);
    try {
      return await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  async #open(say: (text: string) => void): Promise<OpenHostWindow> {
    const machine = { platform: process.platform, env: process.env, home: homedir() };
    const load: Promise<{ openHostWindow: typeof openHostWindow }> =
      import('../../app/browser/open-window.ts');
    this.#opened = await (await load).openHostWindow(machine, this.#access, this.#host, say);
    return this.#opened;
  }
}
