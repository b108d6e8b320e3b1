/** The two ends of Electron's IPC, joined: what the preload invokes reaches what main has registered. */
import type { IpcMain, IpcMainInvokeEvent, IpcRenderer, WebFrameMain } from 'electron';

type Listener = Parameters<IpcMain['handle']>[1];
type Receiver = Parameters<IpcRenderer['on']>[1];

export class FakeIpc {
  readonly handlers = new Map<string, Listener>();
  readonly #receivers = new Map<string, Set<Receiver>>();
  /** the frame that seems to send */
  frame: WebFrameMain | null = null;

  readonly main = {
    handle: (channel: string, listener: Listener) => {
      if (this.handlers.has(channel)) throw new Error(`second handler of ${channel}`);
      this.handlers.set(channel, listener);
    },
  } satisfies Pick<IpcMain, 'handle'>;

  readonly renderer: Pick<IpcRenderer, 'invoke' | 'on' | 'off'> = {
    invoke: (channel: string, payload?: unknown): Promise<unknown> => this.invoke(channel, payload),
    on: (channel: string, receiver: Receiver) => {
      const receivers = this.#receivers.get(channel) ?? new Set();
      this.#receivers.set(channel, receivers.add(receiver));
      return this.renderer as unknown as IpcRenderer;
    },
    off: (channel: string, receiver: Receiver) => {
      this.#receivers.get(channel)?.delete(receiver);
      return this.renderer as unknown as IpcRenderer;
    },
  };

  /** As from {@link FakeIpc.frame}. @throws Error for a channel without a handler */
  async invoke(channel: string, payload?: unknown): Promise<unknown> {
    const listener = this.handlers.get(channel);
    if (listener === undefined) throw new Error(`no handler of ${channel}`);
    return listener({ senderFrame: this.frame } as IpcMainInvokeEvent, payload);
  }

  /** Main sends something to the page. */
  send(channel: string, value: unknown): void {
    const event = { sender: 'not for the page' } as unknown as Parameters<Receiver>[0];
    for (const receiver of this.#receivers.get(channel) ?? []) receiver(event, value);
  }
}
