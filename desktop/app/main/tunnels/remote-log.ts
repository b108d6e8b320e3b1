/** The request log of a tunnel that another process of this user serves, asked over that process's private socket. */
import type { Inspector } from '../../../client/inspector/inspector.ts';
import { LOG_START, type LogPoint } from '../../../client/inspector/records.ts';

interface RemoteLogOptions {
  readonly inspector: Pick<Inspector, 'call' | 'follow'>;
  /** A request has arrived or changed. */
  readonly onChange: () => void;
}

/** It begins to follow the process when its changes are first asked for. */
export class RemoteLog {
  readonly #options: RemoteLogOptions;
  readonly #ended = new AbortController();
  #point = LOG_START;
  #following: Promise<void> | undefined;

  constructor(options: RemoteLogOptions) {
    this.#options = options;
  }

  /** another one whenever there may be something to read */
  get point(): LogPoint {
    return this.#point;
  }

  /** Asks the process. @throws CallRefused */
  readonly call: Inspector['call'] = async (name, payload) => {
    // What changes before it is followed would never be told.
    if (name === 'log:changes') await (this.#following ??= this.#follow());
    return this.#options.inspector.call(name, payload);
  };

  /** Follows the process no longer. */
  stop(): void {
    this.#ended.abort();
  }

  #follow(): Promise<void> {
    const { inspector, onChange } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let isFollowing = false;
    const move = (epochs: number): void => {
      this.#point = { epoch: this.#point.epoch + epochs, revision: this.#point.revision + 1 };
      onChange();
    };
    const onFollowing = (): void => {
      isFollowing = true;
      resolve();
    };
    const over = (): void => {
      this.#following = undefined;
      if (isFollowing) move(1);
    };
    inspector
      .follow(false, () => move(0), this.#ended.signal, onFollowing)
      .catch(reject)
      .finally(over);
    return promise;
  }
}
