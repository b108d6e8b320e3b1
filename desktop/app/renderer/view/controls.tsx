/** Small components shared by several screens. */
import type { ComponentChildren, JSX } from 'preact';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { encode } from 'uqr';
import type { Problem } from '../../ipc/snapshot.ts';
import { t, type TextValues } from '../../messages/translate.ts';
import { useShell } from './context.ts';
import { useAction } from './use-action.ts';

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
