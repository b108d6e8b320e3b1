/** Events of the system while the app runs: links, sleep and shutdown. */
import type { App, PowerMonitor } from 'electron';
import { findDeepLink } from '../deep-link.ts';

interface AppEvents {
  /** The app was started a second time, or its icon in the dock was clicked. */
  readonly onShow: () => void;
  /** A `culvert://` link was opened. */
  readonly onLink: (link: string) => void;
  /** The app is asked to quit; returns whether it may quit immediately. */
  readonly onQuit: () => boolean;
  /** This machine is going to sleep. */
  readonly onSuspend: () => void;
  /** This machine is awake, or its user is back. */
  readonly onWake: () => void;
  /** The system is shutting down; no question must delay that. */
  readonly onShutdown: () => void;
}

/** Passes links to a listener, including those that came before it. */
type LinkSource = (listener: (link: string) => void) => void;

/** macOS sends links this way, even one that starts the app, before the app is ready. */
export function collectLinks(app: Pick<App, 'on'>): LinkSource {
  const early: string[] = [];
  let hand = (link: string): void => void early.push(link);
  app.on('open-url', (event, url) => {
    event.preventDefault();
    hand(url);
  });
  return (listener) => {
    hand = listener;
    for (const link of early.splice(0)) listener(link);
  };
}

export function listenToSystem(
  app: Pick<App, 'on'>,
  powerMonitor: Pick<PowerMonitor, 'on'>,
  links: LinkSource,
  events: AppEvents,
): void {
  app.on('second-instance', (_event, argv) => {
    const link = findDeepLink(argv);
    if (link === undefined) events.onShow();
    else events.onLink(link);
  });
  links(events.onLink);
  app.on('activate', () => events.onShow());
  app.on('before-quit', (event) => {
    if (!events.onQuit()) event.preventDefault();
  });
  // The app continues in the tray.
  app.on('window-all-closed', () => {});
  powerMonitor.on('suspend', () => events.onSuspend());
  powerMonitor.on('resume', () => events.onWake());
  powerMonitor.on('unlock-screen', () => events.onWake());
  powerMonitor.on('shutdown', () => events.onShutdown());
}
