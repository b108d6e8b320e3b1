/** What the command palette is made of. */
import type { Channels } from '../../shared/ipc.ts';
import type { Settings } from '../../shared/snapshot.ts';
import type { Route } from './route.ts';

export type PaletteGroup = 'tunnels' | 'requests' | 'ports' | 'commands' | 'search';

export interface PaletteEntry {
  readonly id: string;
  readonly group: PaletteGroup;
  readonly label: string;
  /** beside it, in a lighter colour */
  readonly detail: string;
  /** the keys that do the same without the palette; `Mod` is Control, or Command on macOS */
  readonly shortcut?: string | undefined;
  /** whether there is one like it for each tunnel or project, shown only to who types */
  readonly isOneOfMany?: boolean;
  readonly act: PaletteAct;
}

/** Channels that need to know only which tunnel. */
export type TunnelChannel = Extract<
  keyof Channels,
  'tunnel:copy-url' | 'tunnel:open-url' | 'tunnel:stop' | 'tunnel:start'
>;

export type PaletteAct =
  | { readonly kind: 'go'; readonly route: Route }
  /** the list, with the focus on a control of a card */
  | { readonly kind: 'show'; readonly focus: string }
  /** the log of a tunnel, searched */
  | { readonly kind: 'search'; readonly key: string; readonly search: string }
  /** the form of a new tunnel, for a port or as it is */
  | { readonly kind: 'port'; readonly port: number | undefined }
  /** `said` is what there is to see of it only here */
  | { readonly kind: 'tunnel'; readonly channel: TunnelChannel; readonly key: string; readonly said?: string }
  /** what to import into the log of a tunnel */
  | { readonly kind: 'import'; readonly key: string }
  | { readonly kind: 'theme'; readonly theme: Settings['theme'] }
  | { readonly kind: 'call'; readonly channel: 'session:sign-out' | 'app:quit' }
  /** leaves the palette for a dialog of the system */
  | { readonly kind: 'choose'; readonly channel: 'folder:choose' | 'project:choose' }
  /** the tunnels of a project that was opened before */
  | { readonly kind: 'reopen'; readonly folder: string };
