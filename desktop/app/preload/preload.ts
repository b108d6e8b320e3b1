/** Gives the page its only way to main: known channels, and nothing of Electron or Node. */
import { contextBridge, ipcRenderer, webUtils } from 'electron';
import { CALL_NAMES, DROPPED_PATHS_MAX, PUSH_NAMES } from '../ipc/channels.ts';
import type { Answer, Channels, Pushes } from '../ipc/ipc.ts';

/** Which folder it is says the system's drag and drop, not the page. */
const DROP = 'folder:drop' satisfies keyof Channels;
const calls: ReadonlySet<string> = new Set(CALL_NAMES.filter((name) => name !== DROP));
const pushes: ReadonlySet<string> = new Set(PUSH_NAMES);

contextBridge.exposeInMainWorld('culvert', {
  call<C extends keyof Channels>(
    channel: C,
    payload: Channels[C]['payload'],
  ): Promise<Answer<Channels[C]['result']>> {
    if (!calls.has(channel)) return Promise.reject(new TypeError('no such channel'));
    return ipcRenderer.invoke(channel, payload) as Promise<Answer<Channels[C]['result']>>;
  },
  /** What is not from the system's drag and drop has no path. */
  drop(files: readonly File[]): Promise<Answer<undefined>> {
    const paths = files.slice(0, DROPPED_PATHS_MAX).map((file) => webUtils.getPathForFile(file));
    return ipcRenderer.invoke(DROP, { paths }) as Promise<Answer<undefined>>;
  },
  on<P extends keyof Pushes>(push: P, listener: (value: Pushes[P]) => void): () => void {
    if (!pushes.has(push)) throw new TypeError('no such push');
    // The event contains the means to send, which the page must not have.
    const receive = (_event: unknown, value: Pushes[P]): void => listener(value);
    ipcRenderer.on(push, receive);
    return () => void ipcRenderer.off(push, receive);
  },
});
