/** The request log of a tunnel that another process of this user serves, asked over that process's private socket. */
import { curlCommand, shellOf } from '../../../client/inspector/curl.ts';
import type { RequestEdit } from '../../../client/inspector/edit.ts';
import type { Inspector } from '../../../client/inspector/inspector.ts';
import type { RequestDetail, RequestSummary, SocketMessages } from '../../../client/inspector/records.ts';
import { RECORDED_REQUESTS_MAX } from '../../../client/inspector/request-log.ts';
import type { Found } from '../../../client/inspector/search.ts';
import type { LogPoint, LogUpdate } from '../../ipc/request-views.ts';

interface RemoteLogOptions {
  readonly inspector: Pick<Inspector, 'call' | 'follow'>;
  /** A request has arrived or changed. */
  readonly onChange: () => void;
}

/** A request, and the change of the log that it last belonged to. */
interface Changed {
  readonly summary: RequestSummary;
  readonly revision: number;
}

/** It begins to follow the process when it is first read. */
export class RemoteLog {
  readonly #options: RemoteLogOptions;
  readonly #ended = new AbortController();
  /** by number, in the order of their changes */
  readonly #requests = new Map<number, Changed>();
  #revision = 0;
  /** grows when the process is followed again: what has changed in between is not known */
  #epoch = 0;
  #reading: Promise<void> | undefined;

  constructor(options: RemoteLogOptions) {
    this.#options = options;
  }

  /** Where a reader of everything is. */
  get point(): LogPoint {
    return { epoch: this.#epoch, revision: this.#revision };
  }

  /** The changes since then. @throws CallRefused if the process cannot be asked */
  async update(since: LogPoint): Promise<LogUpdate> {
    this.#reading ??= this.#read();
    try {
      await this.#reading;
    } catch (error) {
      this.#reading = undefined;
      throw error;
    }
    const isWhole = since.epoch !== this.#epoch;
    const changed = [...this.#requests.values()].filter(
      ({ revision }) => isWhole || revision > since.revision,
    );
    return {
      at: this.point,
      isWhole,
      isMore: false,
      oldest: this.#requests.size === 0 ? 1 : Math.min(...this.#requests.keys()),
      requests: changed.map(({ summary }) => summary),
    };
  }

  detail(id: number, reveal: boolean): Promise<RequestDetail> {
    return this.#options.inspector.call('log:detail', { id, reveal });
  }

  search(words: string): Promise<Found> {
    return this.#options.inspector.call('log:search', { words });
  }

  /** @param after number of the last message that is known */
  async messages(id: number, after: number): Promise<SocketMessages> {
    const all = await this.#options.inspector.call('log:messages', { id });
    return { ...all, messages: all.messages.filter((message) => message.id > after) };
  }

  async curl(id: number, origin: string, reveal: boolean): Promise<string> {
    return curlCommand(await this.detail(id, reveal), origin, shellOf(process.platform));
  }

  replay(id: number): Promise<number> {
    return this.#options.inspector.call('log:replay', { id });
  }

  replayEdited(id: number, edit: RequestEdit): Promise<number> {
    return this.#options.inspector.call('log:edit', { id, edit });
  }

  /** Follows the process no longer. */
  stop(): void {
    this.#ended.abort();
  }

  async #read(): Promise<void> {
    const { inspector, onChange } = this.#options;
    const following = Promise.withResolvers<void>();
    const onRequest = (summary: RequestSummary): void => {
      this.#change(summary);
      onChange();
    };
    inspector.follow(false, onRequest, this.#ended.signal, following.resolve).then(
      () => this.#forget(),
      (error: unknown) => {
        following.promise.then(
          () => this.#forget(),
          () => {},
        );
        following.reject(error);
      },
    );
    await following.promise;
    // What it has told since is newer than the list.
    for (const summary of (await inspector.call('log:list', { reveal: false })).toReversed())
      if (!this.#requests.has(summary.id)) this.#change(summary);
  }

  /** The process no longer tells of its requests. */
  #forget(): void {
    this.#reading = undefined;
    this.#requests.clear();
    this.#epoch += 1;
    this.#options.onChange();
  }

  #change(summary: RequestSummary): void {
    this.#revision += 1;
    this.#requests.delete(summary.id);
    this.#requests.set(summary.id, { summary, revision: this.#revision });
    if (this.#requests.size > RECORDED_REQUESTS_MAX)
      this.#requests.delete(Math.min(...this.#requests.keys()));
  }
}
