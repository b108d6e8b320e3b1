/** Small components shared by several screens, and texts with markup. */
import type { ComponentChild, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { t, tagged, type TextKey, type TextValues } from '../../messages/translate.ts';
import type { WindowAction } from '../model/actions.ts';
import { useAction, useShell } from './context.ts';
import { Button, type ButtonProps, Failure, Input } from './kit.tsx';

/** The kind of thing to copy, which determines the words of messages. */
export interface CopiedThing extends TextValues {
  readonly kind:
    | 'requestHeaders'
    | 'responseHeaders'
    | 'rawRequest'
    | 'rawResponse'
    | 'header'
    | 'jsonValue'
    | 'jsonPath'
    | 'recordName'
    | 'recordValue'
    | 'invitation'
    | 'command';
  readonly name: string;
}

/** How long a button shows that it has copied. */
const COPIED_MS = 2000;

/** Copies a text, and confirms that. */
export function CopyButton({
  what,
  text,
  label = t('common.copy'),
  look = 'link copy',
}: {
  /** what is copied, with its name if there are several */
  what: CopiedThing;
  text: () => string;
  /** text of the button */
  label?: string;
  /** classes of the button */
  look?: string;
}): JSX.Element {
  const { call, say } = useShell();
  const copy = async (): Promise<boolean> => {
    const answer = await call('text:copy', { text: text() });
    say(answer.ok ? t('common.copiedThing', what) : answer.error.text);
    return answer.ok;
  };
  return (
    <Copier
      look={look}
      names={[t('common.copyThing', what), t('common.isCopiedThing', what)]}
      words={[label, t('common.copied')]}
      copy={copy}
    />
  );
}

type CopierProps = Pick<ButtonProps, 'id' | 'look'> & {
  readonly names: readonly [before: string, after: string];
  readonly words: readonly [before: string, after: string];
};

/** A button that says for a moment that it has copied. @param copy returns whether it succeeded */
export function Copier({ copy, ...rest }: CopierProps & { copy: () => Promise<boolean> }): JSX.Element {
  const [isCopied, act] = useCopied(copy);
  return <CopiedButton isCopied={isCopied} act={act} {...rest} />;
}

/** Its names for screen readers contain its words (WCAG 2.5.3). */
export function CopiedButton({
  names: [name, nameAfter],
  words: [words, wordsAfter],
  isCopied,
  ...rest
}: CopierProps & { isCopied: boolean; act: () => Promise<unknown> }): JSX.Element {
  return (
    <Button aria-label={isCopied ? nameAfter : name} {...rest}>
      {isCopied ? wordsAfter : words}
    </Button>
  );
}

/** Whether something was copied a moment ago, and a function that copies it. @param copy returns whether it succeeded */
export function useCopied(copy: () => Promise<boolean>): readonly [boolean, () => Promise<void>] {
  const [isCopied, setCopied] = useMoment<boolean>();
  return [isCopied === true, async () => setCopied((await copy()) || undefined)];
}

/** A value that lasts a moment, and a function that sets it. */
export function useMoment<T>(): readonly [T | undefined, (value: T | undefined) => void] {
  const [value, setValue] = useState<T>();
  useEffect(() => {
    if (value === undefined) return undefined;
    const timer = window.setTimeout(() => setValue(undefined), COPIED_MS);
    return () => window.clearTimeout(timer);
  }, [value]);
  return [value, setValue];
}

/** Characters of a search that are remembered. */
const MOST_CHARS = 200;

/** A search field for a list. Escape clears it; if it is empty, Escape leaves the screen. */
export function SearchField({
  id,
  label,
  placeholder = label,
  value,
  onChange,
}: {
  id: string;
  label: string;
  placeholder?: string;
  value: string;
  onChange: (value: string) => void;
}): JSX.Element {
  return (
    <Input
      id={id}
      type="search"
      aria-label={label}
      placeholder={placeholder}
      value={value}
      maxLength={MOST_CHARS}
      change={onChange}
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

/** Several keys, such as `Home End`, each with a cap; `…` stands between caps. */
export function keyCaps(keys: string): ComponentChild[] {
  return keys
    .split(' ')
    .flatMap((key) => [' ', key === '…' ? key : <Shortcut key={key} keys={key} />])
    .slice(1);
}

/** Starts the diagnostics. @param of the failing tunnel; by default the relay alone */
export function FindOutWhy({ of }: { of?: { readonly key: string; readonly slug: string } }): JSX.Element {
  const action = useAction();
  return (
    <>
      <Button
        look="button small"
        aria-label={of === undefined ? undefined : t('common.findOutWhyOf', { slug: of.slug })}
        act={() => action.run('checkup:start', { key: of?.key })}
      >
        {t('common.findOutWhy')}
      </Button>
      <Failure problem={action.error} />
    </>
  );
}

/** A button for an action: has its title and keys, and shows what went wrong. */
export function ActionButton({
  of: { title, keys, run },
  look,
}: {
  of: WindowAction;
  look?: string;
}): JSX.Element {
  const shell = useShell();
  const action = useAction();
  return (
    <>
      <Button
        look={look}
        title={keys === undefined ? undefined : keysText(keys)}
        isBusy={action.isBusy}
        act={() => run({ ...shell, call: action.run })}
      >
        {title}
      </Button>
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
