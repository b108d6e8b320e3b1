/** Gives the page its only way to main: known channels, and nothing of Electron or Node. */
import { contextBridge, ipcRenderer, webUtils } from 'electron';
import { DROPPED_PATHS_MAX, PUSHES } from '../ipc/ipc.ts';
import type { Bridge, Channels } from '../renderer/bridge.ts';

/** `CHANNEL_NAMES` of main/handlers/channels.ts: the build puts them here, without the code behind them. */
declare const CHANNEL_NAMES: readonly string[];

/** The system's drag and drop says which folder it is, not the page. */
const DROP = 'folder:drop' satisfies keyof Channels;
const channels: ReadonlySet<string> = new Set(CHANNEL_NAMES.filter((name) => name !== DROP));

contextBridge.exposeInMainWorld('culvert', {
  call(channel, payload) {
    if (!channels.has(channel)) return Promise.reject(new TypeError('no such channel'));
    return ipcRenderer.invoke(channel, payload);
  },
  /** A file that is not from the system's drag and drop has no path. */
  drop(files) {
    const paths = files.slice(0, DROPPED_PATHS_MAX).map((file) => webUtils.getPathForFile(file));
    return ipcRenderer.invoke(DROP, { paths });
  },
  on(push, listener) {
    if (!Object.hasOwn(PUSHES, push)) throw new TypeError('no such push');
    // The event contains the means to send, which the page must not have.
    const receive = (_event: unknown, value: Parameters<typeof listener>[0]): void => listener(value);
    ipcRenderer.on(push, receive);
    return () => void ipcRenderer.off(push, receive);
  },
} satisfies Bridge);
