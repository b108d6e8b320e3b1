/** Small components shared by several screens, texts with markup, and icons. */
import type { ComponentChild, ComponentChildren, JSX } from 'preact';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { encode } from 'uqr';
import type { Problem } from '../../ipc/snapshot.ts';
import { t, tagged, type TextKey, type TextValues } from '../../messages/translate.ts';
import type { Shape } from '../model/tunnel-state.ts';
import { useAction, useShell } from './context.ts';

/** A message and its remedy in a box. `alert` if it responds to an action of the user. */
export function Notice({
  kind = 'warning',
  alert = false,
  children,
}: {
  kind?: 'warning' | 'error';
  alert?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <div class={`notice notice-${kind}`} role={alert ? 'alert' : undefined}>
      {children}
    </div>
  );
}

/** The problem with the user's last action. */
export function Failure({ problem }: { problem: Pick<Problem, 'text'> | undefined }): JSX.Element | null {
  if (problem === undefined) return null;
  return (
    <Notice kind="error" alert>
      {problem.text}
    </Notice>
  );
}

/** A label, its control, and below it the problem or a hint, linked for screen readers. */
export function Field({
  id,
  label,
  hint,
  problem,
  children,
}: {
  id: string;
  label: string;
  hint?: ComponentChildren;
  problem?: string | undefined;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      <div id={`${id}-note`} class={problem === undefined ? 'hint' : 'problem'} aria-live="polite">
        {problem ?? hint}
      </div>
    </div>
  );
}

/** Attributes of the control of a {@link Field}. */
export function fieldControl(id: string, problem: string | undefined) {
  return {
    id,
    'aria-describedby': `${id}-note`,
    'aria-invalid': problem === undefined ? undefined : ('true' as const),
  };
}

/** A word that acts on one of several things. Its name for screen readers includes the thing. */
export function ActionLink({
  id,
  label,
  of,
  expanded,
  apart = false,
  onClick,
}: {
  id?: string;
  label: string;
  of: string;
  expanded?: boolean;
  /** whether it is set apart, because it ends something */
  apart?: boolean;
  onClick: () => void;
}): JSX.Element {
  return (
    <button
      type="button"
      id={id}
      class={apart ? 'link apart' : 'link'}
      aria-label={t('tunnels.actionOf', { action: label, slug: of })}
      aria-expanded={expanded}
      onClick={onClick}
    >
      {label}
    </button>
  );
}

/** The kind of thing to copy, which determines the words of messages. */
export interface CopiedThing extends TextValues {
  readonly kind:
    | 'requestHeaders'
    | 'responseHeaders'
    | 'header'
    | 'jsonValue'
    | 'jsonPath'
    | 'recordName'
    | 'recordValue'
    | 'invitation';
  readonly name: string;
}

/** Copies a text, and confirms that. */
export function CopyButton({
  what,
  text,
  label = t('common.copy'),
}: {
  /** what is copied, with its name if there are several */
  what: CopiedThing;
  text: () => string;
  /** text of the button */
  label?: string;
}): JSX.Element {
  const { say } = useShell();
  const action = useAction();
  const { isCopied, setCopied } = useCopied();
  const copy = async (): Promise<void> => {
    const answer = await action.run('text:copy', { text: text() });
    say(answer.ok ? t('common.copiedThing', what) : answer.error.text);
    if (answer.ok) setCopied();
  };
  return (
    <button
      type="button"
      class="link copy"
      aria-label={t(isCopied ? 'common.isCopiedThing' : 'common.copyThing', what)}
      onClick={() => void copy()}
    >
      {isCopied ? t('common.copied') : label}
    </button>
  );
}

/** Characters of a search that are remembered. */
const MOST_CHARS = 200;

/** A search field for a list. Escape clears it; if it is empty, Escape leaves the screen. */
export function SearchField({
  id,
  label,
  placeholder,
  value,
  onChange,
}: {
  id: string;
  label: string;
  placeholder: string;
  value: string;
  onChange: (value: string) => void;
}): JSX.Element {
  return (
    <input
      id={id}
      type="search"
      class="search"
      aria-label={label}
      placeholder={placeholder}
      value={value}
      maxLength={MOST_CHARS}
      onInput={(event) => onChange(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || value === '') return;
        event.preventDefault();
        onChange('');
      }}
    />
  );
}

const IS_MAC = navigator.platform.startsWith('Mac');

/** A shortcut of Electron in the notation of this system. */
export function shortcutText(accelerator: string): string {
  return accelerator
    .replace('CommandOrControl', IS_MAC ? 'Cmd' : t('keys.control'))
    .replace('Alt', IS_MAC ? 'Option' : 'Alt')
    .replace('Shift', t('keys.shift'))
    .replace('Space', t('keys.space'));
}

/** The keys of a shortcut in the notation of this system. @param keys such as `Mod+N`, or several */
export function keysText(keys: string): string {
  return keys.replaceAll('Mod+', IS_MAC ? '⌘' : `${t('keys.control')}+`);
}

/** Shows {@link keysText} as key caps. */
export function Shortcut({ keys }: { keys: string }): JSX.Element {
  return <kbd>{keysText(keys)}</kbd>;
}

/** How long a button shows that it has copied. */
const COPIED_MS = 2000;

/** Whether something was copied a moment ago. */
export function useCopied(): { readonly isCopied: boolean; readonly setCopied: () => void } {
  const [isCopied, set] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = window.setTimeout(() => set(false), COPIED_MS);
    return () => window.clearTimeout(timer);
  }, [isCopied]);
  const setCopied = useCallback(() => set(true), []);
  return { isCopied, setCopied };
}

/** A code includes a light border of this many modules (ISO/IEC 18004 section 9.1). */
const BORDER = 4;

/** An address as a QR code, dark on light in every theme, as scanners expect. */
export function QrCode({ text }: { text: string }): JSX.Element {
  const { size, path } = useMemo(() => drawQr(text), [text]);
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={t('common.qr', { text })}>
      <rect class="qr-light" width={size} height={size} />
      <path class="qr-dark" d={path} />
    </svg>
  );
}

function drawQr(text: string): { size: number; path: string } {
  const { data, size } = encode(text, { border: BORDER });
  const path = data
    .map((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : '')).join(''))
    .join('');
  return { size, path };
}

/** Starts the diagnostics. @param of the failing tunnel; by default the relay alone */
export function FindOutWhy({ of }: { of?: { readonly key: string; readonly slug: string } }): JSX.Element {
  const action = useAction();
  return (
    <>
      <button
        type="button"
        class="button small"
        aria-label={of === undefined ? undefined : t('common.findOutWhyOf', { slug: of.slug })}
        onClick={() => void action.run('checkup:start', { key: of?.key })}
      >
        {t('common.findOutWhy')}
      </button>
      <Failure problem={action.error} />
    </>
  );
}

type Tags = Readonly<Record<string, (inside: ComponentChild[]) => ComponentChild>>;

const BOLD: Tags = { b: (inside) => <b>{inside}</b> };

/**
 * Renders a text with markup.
 *
 * @param tags the element for each tag of the message; by default `<b>`
 */
export function rich(key: TextKey, values: TextValues, tags: Tags = BOLD): ComponentChild[] {
  return tagged<ComponentChild>(key, values, tags);
}

/** The Culvert logo: two arches. */
export function Mark({ size = 20 }: { size?: number }): JSX.Element {
  return (
    <svg class="mark" width={size} height={size} viewBox="0 0 20 20" aria-hidden="true">
      <path d="M2 16V9.5a8 8 0 0 1 16 0V16" />
      <path class="mark-inner" d="M6.5 16v-6a3.5 3.5 0 0 1 7 0v6" />
    </svg>
  );
}

/** A tunnel's state as a shape; the word is next to it. */
export function StateShape({ shape }: { shape: Shape }): JSX.Element {
  return (
    <svg class={`shape shape-${shape}`} viewBox="0 0 14 14" aria-hidden="true">
      {drawing(shape)}
    </svg>
  );
}

function drawing(shape: Shape): JSX.Element {
  switch (shape) {
    case 'online':
      return <circle class="filled" cx="7" cy="7" r="5" />;
    case 'soon':
      return <path class="filled" d="M7 1.5 13 12H1Z" />;
    case 'trouble':
      return <path class="drawn" d="M7 2.4a4.6 4.6 0 1 0 0 9.2 4.6 4.6 0 0 0 0-9.2ZM4 10l6-6" />;
    case 'connecting':
      return <path class="drawn" d="M7 2.4A4.6 4.6 0 1 1 2.4 7" />;
    case 'reconnecting':
      return <path class="drawn" d="M11.6 7A4.6 4.6 0 0 1 3 9.3M2.4 7A4.6 4.6 0 0 1 11 4.7" />;
    case 'ended':
      return <rect class="drawn" x="3" y="3" width="8" height="8" rx="1.5" />;
  }
}

const ICONS = {
  settings:
    'M2 4.5h1.6M7.4 4.5H14M2 11.5h6.6M12.4 11.5H14M5.5 2.6a1.9 1.9 0 1 1 0 3.8 1.9 1.9 0 0 1 0-3.8ZM10.5 9.6a1.9 1.9 0 1 1 0 3.8 1.9 1.9 0 0 1 0-3.8Z',
  back: 'M9.5 3 4.5 8l5 5',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9ZM10.4 10.4 14 14',
  close: 'm4 4 8 8M12 4l-8 8',
  locked: 'M4.4 7.2h7.2v6H4.4ZM5.6 7.2V5a2.4 2.4 0 0 1 4.8 0v2.2',
  unlocked: 'M4.4 7.2h7.2v6H4.4ZM5.6 7.2V4.6A2.4 2.4 0 0 1 10.2 4',
  check: 'm3.5 8.5 3 3 6-7',
  folder: 'M2 3.5h4.2l1.4 1.9H14v7.1H2Z',
  next: 'm6 3.5 4.5 4.5L6 12.5',
} as const;

/** Icons that point to the start or end of a line. */
const TURNING: ReadonlySet<keyof typeof ICONS> = new Set(['back']);

export function Icon({ name }: { name: keyof typeof ICONS }): JSX.Element {
  return (
    <svg
      class={TURNING.has(name) ? 'icon turns' : 'icon'}
      width="16"
      height="16"
      viewBox="0 0 16 16"
      aria-hidden="true"
    >
      <path d={ICONS[name]} />
    </svg>
  );
}
