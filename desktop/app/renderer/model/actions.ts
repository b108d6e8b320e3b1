/** What the window can do: one row each for the palette, its keys and its buttons. */
import type { CallError } from '../../ipc/ipc.ts';
import type { OtherTunnelView, TunnelView } from '../../ipc/snapshot.ts';
import type { KnownProject } from '../../ipc/tunnel-views.ts';
import { LANGUAGE_NAMES, LANGUAGES, t, type TextKey } from '../../messages/translate.ts';
import type { Channels } from '../bridge.ts';
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import { countedBy, isRaw } from './address.ts';
import { targetText } from './request.ts';
import type { Route } from './route.ts';
import { isLive, takesImports } from './tunnel-state.ts';

/** Asks main. @returns whether it succeeded, with the result */
export type Call = <C extends keyof Channels>(
  channel: C,
  payload: Channels[C]['payload'],
) => Promise<Outcome<C>>;

export type Outcome<C extends keyof Channels> =
  | { readonly ok: true; readonly value: Channels[C]['result'] }
  | { readonly ok: false; readonly error: CallError };

/** The parts of a tunnel that its buttons unfold; `card` is an idle one itself, which is a row in the list. */
export type CardPart = 'lock' | 'extend' | 'qr' | 'away' | 'card';

/** What actions work with. */
export interface Acts {
  readonly call: Call;
  /** announces a text to screen readers, in a polite live region */
  readonly say: (text: string) => void;
  readonly go: (route: Route) => void;
  /** opens the list, or the part of the window with that tunnel, and focuses the element with that id */
  readonly show: (focus: string, key?: string) => void;
  /** The address of a tunnel was copied: its button shows that for a moment. */
  readonly copied: (key: string) => void;
  /** unfolds a part of a card, or folds it */
  readonly unfold: (key: string, part: CardPart | undefined) => void;
  /** opens the form of a new tunnel, for a port or unchanged */
  readonly newTunnel: (port?: number) => void;
  /** opens the log of a tunnel, and searches it for some words */
  readonly search: (key: string, words: string) => void;
  /** asks what to import into the log of a tunnel */
  readonly importTo: (key: string) => void;
  /** shows the keys of the window, or no longer */
  readonly toggleKeys: () => void;
}

/** What became of an action that asks main. */
export type Done =
  { readonly ok: true; readonly said?: string } | { readonly ok: false; readonly error: CallError };

export interface WindowAction {
  readonly id: string;
  readonly title: string;
  /** other words that find it, in lower case */
  readonly names?: string;
  /** keys that do the same; `Mod` is Control, or Command on macOS */
  readonly keys?: string | undefined;
  /** which windows have it, by default all: `app` excludes the window of a command, `desktop` also browsers */
  readonly only?: 'app' | 'desktop';
  /** whether each tunnel or project has such an action; the palette shows these once the user types */
  readonly isOneOfMany?: boolean;
  /** whether it opens a dialog: the palette closes first */
  readonly isDialog?: boolean;
  /** An action without a promise moves the user to another place. */
  readonly run: (acts: Acts) => void | Promise<Done>;
}

/** With something shown beside the title, in a lighter colour. */
type DetailedAction = WindowAction & { readonly detail: string };

/** Whether a window has an action. */
export function canDo(
  { only }: Pick<WindowAction, 'only'>,
  { isBrowser, isOfCommand }: { readonly isBrowser: boolean; readonly isOfCommand: boolean },
): boolean {
  return only === undefined || (!isOfCommand && !(isBrowser && only === 'desktop'));
}

/** Actions that need no tunnel. */
export function windowActions(): readonly WindowAction[] {
  return [
    {
      ...row('new', t('palette.new'), (acts) => acts.newTunnel()),
      names: names('new'),
      keys: 'Mod+N',
      only: 'app',
    },
    folderAction(),
    projectAction(),
    settingsAction(),
    {
      ...row('team', t('palette.team'), (acts) => acts.go({ screen: 'settings' })),
      names: names('team'),
      only: 'app',
    },
    { ...row('keys', t('keys.title'), (acts) => acts.toggleKeys()), names: names('keys'), keys: '?' },
    { ...diagnose('diagnose', t('palette.diagnose'), undefined) },
    ...(['light', 'dark', 'system'] as const).map((theme) =>
      row(theme, t(`palette.${theme}`), ({ call }) => call('settings:change', { theme })),
    ),
    ...LANGUAGES.map((language) => ({
      ...row(`language-${language}`, t('palette.language', { name: LANGUAGE_NAMES[language] }), ({ call }) =>
        call('settings:change', { language }),
      ),
      names: names(`language.${language}`),
    })),
    row('about', t('palette.about'), (acts) => acts.go({ screen: 'about' })),
    {
      ...row('add-sign-in', t('signIns.another'), ({ call }) => call('session:add', undefined)),
      names: names('addSignIn'),
      only: 'app',
    },
    {
      ...row('sign-out', t('settings.signOut'), ({ call }) => call('session:sign-out', {})),
      names: names('signOut'),
      only: 'app',
    },
    {
      ...row('quit', t('settings.quit'), ({ call }) => call('app:quit', undefined)),
      names: names('quit'),
      only: 'desktop',
    },
  ];
}

/** Asks for a folder to share. */
export function folderAction(): WindowAction {
  return {
    ...row('share', t('project.openFolder'), ({ call }) => call('folder:choose', undefined)),
    names: names('share'),
    keys: 'Mod+Shift+O',
    only: 'app',
    isDialog: true,
  };
}

/** Asks for the folder of a project. */
export function projectAction(): WindowAction {
  return {
    ...row('project', t('project.open'), ({ call }) => call('project:choose', undefined)),
    keys: 'Mod+O',
    only: 'app',
    isDialog: true,
  };
}

export function settingsAction(): WindowAction {
  return {
    ...row('settings', t('settings.title'), (acts) => acts.go({ screen: 'settings' })),
    names: names('settings'),
    keys: 'Mod+,',
  };
}

/** Actions that open previous projects. */
export function projectActions(projects: readonly KnownProject[]): readonly DetailedAction[] {
  return projects.map(({ name, folder }, index) => ({
    ...row(`project-${index}`, t('project.reopen', { name }), ({ call }) =>
      call('project:reopen', { folder }),
    ),
    detail: folder,
    only: 'app',
    isOneOfMany: true,
    isDialog: true,
  }));
}

type Named = Pick<TunnelView, 'key' | 'slug' | 'url'>;

/** @param isKept whether the account keeps its name, which no other tunnel has */
export function tunnelActions(tunnel: TunnelView, isKept: boolean): readonly WindowAction[] {
  const { key, slug, name } = tunnel;
  const log = logAction(tunnel);
  const byHand = takesImports(tunnel)
    ? [of(tunnel, 'import', 'palette.importTo', (acts) => acts.importTo(key))]
    : [];
  if (!isLive(tunnel))
    return [
      log,
      ...byHand,
      {
        ...of(
          tunnel,
          'start',
          isKept ? 'palette.resume' : 'palette.startAgain',
          ({ call }) => call('tunnel:start', { key }),
          isKept ? 'resume' : undefined,
        ),
        only: 'app',
      },
      ...(isKept ? [messageAction(slug, key, key)] : []),
    ];
  const unfolding = isRaw(tunnel) ? (['lock', 'extend'] as const) : (['lock', 'extend', 'qr'] as const);
  const parts = unfolding.map((part) =>
    of(
      tunnel,
      part,
      `palette.${part}`,
      (acts) => {
        // A card has no room for the code.
        if (part === 'qr') acts.go({ screen: 'log', key });
        else acts.show(`${part}-${key}`, key);
        acts.unfold(key, part);
      },
      part,
    ),
  );
  return [
    copyAction(tunnel),
    log,
    ...byHand,
    ...parts,
    { ...diagnose(`diagnose-${key}`, t('palette.diagnoseOf', { slug }), key), isOneOfMany: true },
    ...liveActions(tunnel),
    ...(isKept ? [messageAction(slug, key, key)] : []),
    // A random name would be another one after the pause.
    ...(name === ''
      ? []
      : [
          {
            ...of(tunnel, 'pause', 'palette.pause', ({ call }) => call('tunnel:pause', { key }), 'pause'),
            only: 'app' as const,
          },
        ]),
  ];
}

/** What visitors of a kept name read. @param card key of its card. @param tunnel key of its tunnel, if it has one */
export function messageAction(name: string, card: string, tunnel?: string): WindowAction {
  const run = (acts: Acts): void => showMessage(acts, card, tunnel);
  return { ...of({ key: card, slug: name }, 'away', 'palette.message', run, 'message'), only: 'app' };
}

/** Unfolds the message on the card of a kept name, to write it. The parameters are those of {@link messageAction}. */
export function showMessage(acts: Pick<Acts, 'unfold' | 'show'>, card: string, tunnel?: string): void {
  acts.unfold(card, 'away');
  acts.show(`away-form-${card}-text`, tunnel);
}

/** Actions on a tunnel that this app does not serve. */
export function otherActions(tunnel: OtherTunnelView): readonly WindowAction[] {
  const log = tunnel.log === undefined ? [] : [logAction(tunnel)];
  return [copyAction(tunnel), ...log, ...(tunnel.isStopping ? [] : liveActions(tunnel))];
}

function logAction(tunnel: Named): WindowAction {
  const { key } = tunnel;
  return of(tunnel, 'log', 'log.requestsTo', (acts) => acts.go({ screen: 'log', key }), 'log');
}

function copyAction(tunnel: Named): WindowAction {
  const { key, url } = tunnel;
  const copy = async (acts: Acts): Promise<Done> => {
    const answer = await copyAddress(acts, key);
    return answer.ok ? { ok: true, said: t('palette.copied', { url }) } : answer;
  };
  return of(tunnel, 'copy', 'palette.copyAddress', copy, 'copy');
}

/** Copies the address of a tunnel. @param said announced if it succeeds */
export async function copyAddress(
  { call, say, copied }: Pick<Acts, 'call' | 'say' | 'copied'>,
  key: string,
  said?: string,
): Promise<Outcome<'tunnel:copy-url'>> {
  const answer = await call('tunnel:copy-url', { key });
  if (answer.ok) copied(key);
  if (answer.ok && said !== undefined) say(said);
  return answer;
}

function liveActions(tunnel: Named): readonly WindowAction[] {
  const { key } = tunnel;
  return [
    ...(isRaw(tunnel)
      ? []
      : [of(tunnel, 'open', 'palette.open', ({ call }) => call('tunnel:open-url', { key }), 'open')]),
    {
      ...of(tunnel, 'stop', 'palette.stop', ({ call }) => call('tunnel:stop', { key }), 'stop'),
      only: 'app',
    },
  ];
}

/** What can be done with the last few requests of a tunnel. */
export function requestActions({ key, slug, recent }: TunnelView): readonly DetailedAction[] {
  return recent.flatMap((request) => {
    const { id, connection } = request;
    if (connection !== undefined) return [];
    const what = `${escapeUnprintable(request.method)} ${targetText(request)}`;
    const one = (name: 'replay' | 'edit' | 'curl', run: WindowAction['run']) => ({
      ...row(`${name}-${key}-${id}`, t(`palette.${name}`, { what }), run),
      names: names(name),
      detail: slug,
      isOneOfMany: true,
    });
    return [
      one('replay', async (acts) => {
        const answer = await requestActs(acts, key).replay(id);
        if (answer.ok) acts.go({ screen: 'request', key, id: answer.value });
        return answer;
      }),
      one('edit', (acts) => requestActs(acts, key).edit(id)),
      one('curl', (acts) => requestActs(acts, key).copyCurl(id)),
    ];
  });
}

/** What can be done with a request of a log, by number. */
export interface RequestActs {
  readonly replay: (id: number) => Promise<Outcome<'log:replay'>>;
  readonly edit: (id: number) => void;
  /** copies a curl command. @param reveal include secrets */
  readonly copyCurl: (id: number, reveal?: boolean) => Promise<Done>;
}

/** @param key of the tunnel */
export function requestActs({ call, say, go }: Pick<Acts, 'call' | 'say' | 'go'>, key: string): RequestActs {
  return {
    async replay(id) {
      const answer = await call('log:replay', { key, id });
      if (answer.ok) say(t('request.sentAgain'));
      return answer;
    },
    edit: (id) => go({ screen: 'edit', key, id }),
    async copyCurl(id, reveal = false) {
      const answer = await call('log:copy-curl', { key, id, reveal });
      if (!answer.ok) return answer;
      const said = t(answer.value.hidesSecrets ? 'request.copiedCurlClean' : 'request.copiedCurl');
      say(said);
      return { ok: true, said };
    },
  };
}

/** @param key of a tunnel, or of none for the relay alone */
function diagnose(id: string, title: string, key: string | undefined): WindowAction {
  return {
    ...row(id, title, ({ call }) => call('checkup:start', { key })),
    names: names('diagnose'),
    isDialog: true,
  };
}

function of(
  tunnel: Pick<Named, 'key' | 'slug'> & Partial<Pick<Named, 'url'>>,
  name: string,
  title: Extract<TextKey, `palette.${string}` | 'log.requestsTo'>,
  run: WindowAction['run'],
  alias?: Alias,
): WindowAction {
  const { key, slug } = tunnel;
  const action = {
    ...row(`${name}-${key}`, t(title, { slug, kind: countedBy(tunnel) }), run),
    isOneOfMany: true,
  };
  return alias === undefined ? action : { ...action, names: names(alias) };
}

function row(name: string, title: string, run: WindowAction['run']): WindowAction {
  return { id: `command-${name}`, title, run };
}

type Alias = Extract<TextKey, `palette.names.${string}`> extends `palette.names.${infer Name}` ? Name : never;

/** Other words for an action, which people type but do not see. */
function names(name: Alias): string {
  return t(`palette.names.${name}`).toLowerCase();
}
