/** Gives the page its only way to main: known channels, and nothing of Electron or Node. */
import { contextBridge, ipcRenderer } from 'electron';
import { CALL_NAMES, PUSH_NAMES } from '../shared/channels.ts';
import type { Answer, Channels, Pushes } from '../shared/ipc.ts';

const calls: ReadonlySet<string> = new Set(CALL_NAMES);
const pushes: ReadonlySet<string> = new Set(PUSH_NAMES);

contextBridge.exposeInMainWorld('culvert', {
  call<C extends keyof Channels>(
    channel: C,
    payload: Channels[C]['payload'],
  ): Promise<Answer<Channels[C]['result']>> {
    if (!calls.has(channel)) return Promise.reject(new TypeError('no such channel'));
    return ipcRenderer.invoke(channel, payload) as Promise<Answer<Channels[C]['result']>>;
  },
  on<P extends keyof Pushes>(push: P, listener: (value: Pushes[P]) => void): () => void {
    if (!pushes.has(push)) throw new TypeError('no such push');
    // The event contains the means to send, which the page must not have.
    const receive = (_event: unknown, value: Pushes[P]): void => listener(value);
    ipcRenderer.on(push, receive);
    return () => void ipcRenderer.off(push, receive);
  },
});
