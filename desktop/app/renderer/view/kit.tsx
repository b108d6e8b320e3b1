/** The parts of every screen: buttons, fields, choices, forms, lists and dialogs. Focus, names and problems are wired once. */
import {
  type ButtonHTMLAttributes,
  cloneElement,
  type ComponentChildren,
  type FormHTMLAttributes,
  type HTMLAttributes,
  type InputHTMLAttributes,
  type JSX,
  type PartialInputHTMLAttributes,
  type RefObject,
  type SelectHTMLAttributes,
  type TargetedKeyboardEvent,
  type TargetedMouseEvent,
  type TextareaHTMLAttributes,
  type VNode,
} from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../../messages/translate.ts';
import type { Problem } from '../../ipc/snapshot.ts';
import { countText } from '../model/numbers.ts';
import { Icon, type IconName } from './icons.tsx';
import { useKeptFocus, useModal } from './keyboard.ts';
import type { Loaded } from './use-loaded.ts';

/** A message and its remedy in a box. `alert` if it responds to an action of the user. */
export function Notice({
  kind = 'warning',
  alert = false,
  children,
}: {
  kind?: 'warning' | 'error' | 'news';
  alert?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <div class={`notice notice-${kind}`} role={alert ? 'alert' : undefined}>
      {children}
    </div>
  );
}

/** The problem with the user's last action. @param children beside it */
export function Failure({
  problem,
  children,
}: {
  problem: Pick<Problem, 'text'> | undefined;
  children?: ComponentChildren;
}): JSX.Element | null {
  if (problem === undefined) return null;
  return (
    <Notice kind="error" alert>
      {children === undefined ? problem.text : <Aside text={problem.text}>{children}</Aside>}
    </Notice>
  );
}

/** A text with its buttons. */
export function Aside({
  text,
  children,
}: {
  text: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <div class="line split">
      <span class="grow">{text}</span>
      {children}
    </div>
  );
}

export interface ButtonProps extends Omit<ButtonHTMLAttributes, 'class' | 'type' | 'onClick'> {
  /** its classes */
  look?: string | undefined;
  /** While it is busy, presses do nothing. */
  isBusy?: boolean | undefined;
  /** without it, the button submits its form */
  act?: (event: TargetedMouseEvent<HTMLButtonElement>) => unknown;
  ref?: RefObject<HTMLButtonElement | null>;
}

export function Button({ look = 'button', isBusy, act, ...rest }: ButtonProps): JSX.Element {
  return (
    <button
      type={act === undefined ? 'submit' : 'button'}
      class={look}
      aria-disabled={isBusy}
      onClick={act && ((event) => void (isBusy === true || act(event)))}
      {...rest}
    />
  );
}

/** A button that shows a value, and unfolds what changes it. */
export function ChipButton({ children, ...rest }: ButtonProps): JSX.Element {
  return (
    <Button look="chip fact" {...rest}>
      {children}
      <span aria-hidden="true">▾</span>
    </Button>
  );
}

/** Why something could not be loaded, and a button to try again. */
export function Failed({
  of: { error, reload },
}: {
  of: Pick<Loaded<unknown>, 'error' | 'reload'>;
}): JSX.Element {
  return (
    <Failure problem={error}>
      <Retry reload={reload} />
    </Failure>
  );
}

function Retry({ reload }: Pick<Loaded<unknown>, 'reload'>): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  // The focus stays near when it has succeeded.
  useLayoutEffect(
    () => () => {
      const part = button.current?.closest('.card, .screen');
      if (document.activeElement === button.current)
        part?.querySelector<HTMLElement>('h1[tabindex], input, button')?.focus();
    },
    [],
  );
  return (
    <Button ref={button} look="button small" act={reload}>
      {t('common.tryAgain')}
    </Button>
  );
}

/** @param name for screen readers, and by default for the pointer */
export function IconButton({
  icon,
  name,
  look = 'icon-button',
  ...rest
}: ButtonProps & { icon: IconName; name: string }): JSX.Element {
  return (
    <Button look={look} aria-label={name} title={name} {...rest}>
      <Icon name={icon} />
    </Button>
  );
}

/** Points down at what is unfolded. */
export function FoldMark({ isOpen }: { isOpen: boolean }): JSX.Element {
  return <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span>;
}

/** What few people look at, below a button that unfolds it. @param isNeeded unfolds it without that */
export function Folded({
  title,
  isNeeded = false,
  children,
}: {
  title: string;
  isNeeded?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const [isOpen, setOpen] = useState(isNeeded);
  useLayoutEffect(() => {
    if (isNeeded) setOpen(true);
  }, [isNeeded]);
  const id = useId();
  return (
    <div class="stack">
      <Button look="headers-fold" aria-expanded={isOpen} aria-controls={id} act={() => setOpen(!isOpen)}>
        <FoldMark isOpen={isOpen} />
        {title}
      </Button>
      <div id={id} class="stack s3" hidden={!isOpen}>
        {isOpen && children}
      </div>
    </div>
  );
}

/** A form that the window handles itself. */
export function Form({
  submit,
  ...rest
}: FormHTMLAttributes & { submit: () => void | Promise<void> | undefined }): JSX.Element {
  return (
    <form
      noValidate
      {...rest}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    />
  );
}

/** A label, its control, and below it the problem or a hint, linked for screen readers. */
export function Field({
  id,
  label,
  hint,
  problem,
  beside,
  children,
}: {
  id: string;
  label: string;
  hint?: ComponentChildren;
  problem?: string | undefined;
  /** on the line of the control */
  beside?: ComponentChildren;
  /** the control */
  children: VNode;
}): JSX.Element {
  const control = cloneElement(children, { id, ...described(`${id}-note`, problem) });
  return (
    <div class="field stack s1">
      <label for={id}>{label}</label>
      {beside === undefined ? (
        control
      ) : (
        <div class="with-button line">
          {control}
          {beside}
        </div>
      )}
      <Note id={`${id}-note`} hint={hint} problem={problem} />
    </div>
  );
}

/** Links a control to its {@link Note}. */
export function described(note: string, problem: string | undefined) {
  return {
    'aria-describedby': note,
    'aria-invalid': problem === undefined ? undefined : ('true' as const),
  };
}

/** The problem of a control, or else a hint. */
export function Note({
  id,
  hint,
  problem,
}: {
  id: string;
  hint?: ComponentChildren;
  problem: string | undefined;
}): JSX.Element {
  return (
    <div id={id} class={problem === undefined ? 'hint' : 'problem'} aria-live="polite">
      {problem ?? hint}
    </div>
  );
}

interface Typed {
  value: string;
  change: (value: string) => void;
}

/** What is typed here is no prose. */
const UNCORRECTED = { autocomplete: 'off', autocapitalize: 'none', spellcheck: false } as const;

export interface InputProps extends Omit<PartialInputHTMLAttributes<HTMLInputElement>, 'value' | 'label'> {
  list?: string;
  role?: 'combobox';
}

export function Input({ change, ...rest }: InputProps & Typed): JSX.Element {
  return (
    <input
      {...UNCORRECTED}
      {...(rest as InputHTMLAttributes)}
      onInput={(event) => change(event.currentTarget.value)}
    />
  );
}

export function TextArea({
  change,
  ...rest
}: Omit<TextareaHTMLAttributes, keyof Typed> & Typed): JSX.Element {
  return <textarea {...UNCORRECTED} {...rest} onInput={(event) => change(event.currentTarget.value)} />;
}

/** Values with their labels. */
type Choices<T extends string> = readonly (readonly [value: T, label: string])[];

export interface SelectProps<T extends string> extends Omit<SelectHTMLAttributes, 'value'> {
  choices: Choices<T>;
  value: T;
  choose: (value: T) => unknown;
  /** further options */
  children?: ComponentChildren;
}

export function Select<T extends string>({
  choices,
  choose,
  children,
  ...rest
}: SelectProps<T>): JSX.Element {
  return (
    <select {...(rest as SelectHTMLAttributes)} onChange={(event) => choose(event.currentTarget.value as T)}>
      {choices.map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
      {children}
    </select>
  );
}

/** A box to tick, or with a type of its own one of several choices. */
export function Choice({
  label,
  hint,
  change,
  ...rest
}: InputProps & {
  label: ComponentChildren;
  hint?: ComponentChildren;
  change: (checked: boolean) => void;
}): JSX.Element {
  return (
    <label class="choice">
      <input
        {...({ type: 'checkbox', ...rest } as InputHTMLAttributes)}
        onChange={(event) => change(event.currentTarget.checked)}
      />
      <span>
        {label}
        {hint !== undefined && <span class="hint">{hint}</span>}
      </span>
    </label>
  );
}

/** Names with their values. Both are code. */
export function Table({
  rows,
  caption,
  beside,
  ...rest
}: {
  rows: readonly (readonly [name: string, value: string])[];
  caption?: string;
  /** at the end of a row */
  beside?: (row: number) => ComponentChildren;
  'aria-label'?: string;
}): JSX.Element {
  return (
    <table class="table" {...rest}>
      {caption !== undefined && <caption>{caption}</caption>}
      <tbody>
        {rows.map(([name, value], index) => (
          // Names may repeat, so the position is the key.
          <tr key={index}>
            <th scope="row" dir="ltr">
              {name}
            </th>
            <td class="mono" dir="ltr">
              {value}
            </td>
            {beside !== undefined && <td class="fields-copy">{beside(index)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A choice among buttons: one is pressed. A press of that one chooses it again. */
export function Toggles<T extends string>({
  label,
  choices,
  value,
  choose,
  look = 'link',
  ...rest
}: {
  label: string;
  choices: readonly (readonly [value: T, label: ComponentChildren])[];
  value: T;
  choose: (value: T) => void;
  /** classes of the buttons */
  look?: string;
  class?: string;
}): JSX.Element {
  return (
    <span role="group" aria-label={label} {...rest}>
      {choices.map(([choice, words]) => (
        <Button key={choice} look={look} aria-pressed={choice === value} act={() => choose(choice)}>
          {words}
        </Button>
      ))}
    </span>
  );
}

/** A part that a tab shows, with the number of things in it. */
export interface Tab<T extends string> {
  readonly id: T;
  readonly label: string;
  readonly count?: number;
}

/** Tabs, one of which is open: arrow keys, Home and End choose (WAI-ARIA Authoring Practices). */
export function Tabs<T extends string>({
  label,
  tabs,
  value,
  choose,
  children,
}: {
  label: string;
  tabs: readonly Tab<T>[];
  value: T;
  choose: (id: T) => void;
  /** the part that is shown */
  children: ComponentChildren;
}): JSX.Element {
  const id = useId();
  const at = tabs.findIndex((tab) => tab.id === value);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const { key } = event;
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[key];
    const tab = next === undefined ? undefined : tabs.at(next % tabs.length);
    if (tab === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    choose(tab.id);
    document.getElementById(`${id}-${tab.id}`)?.focus();
  };
  return (
    <>
      <div role="tablist" aria-label={label} class="tabs" onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <Button
            key={tab.id}
            id={`${id}-${tab.id}`}
            look="tab"
            role="tab"
            aria-selected={tab.id === value}
            aria-controls={tab.id === value ? `${id}-part` : undefined}
            tabIndex={tab.id === value ? 0 : -1}
            act={() => choose(tab.id)}
          >
            {tab.label}
            {tab.count !== undefined && <span class="dim"> {countText(tab.count)}</span>}
          </Button>
        ))}
      </div>
      <div key={value} id={`${id}-part`} role="tabpanel" aria-labelledby={`${id}-${value}`} class="stack">
        {children}
      </div>
    </>
  );
}

/**
 * A list that keeps the focus when the focused row disappears: the next row gets it.
 *
 * @param after id of the element that gets it instead of a next row
 */
export function List({ after, ...rest }: HTMLAttributes<HTMLUListElement> & { after: string }): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  useKeptFocus(list, (place) => {
    const rows = list.current?.children;
    const next = rows?.[Math.min(place, rows.length - 1)];
    return next?.querySelector('button') ?? document.getElementById(after);
  });
  // The list goes with its last row.
  useLayoutEffect(
    () => () => {
      if (list.current?.contains(document.activeElement) === true) document.getElementById(after)?.focus();
    },
    [after],
  );
  return <ul ref={list} {...rest} />;
}

/** A question or a result over the window. Its first button closes it, and has the focus, unless there are fields. */
export function Dialog({
  title,
  close,
  closeWord = t('common.close'),
  closeLook,
  isBusy = false,
  problem,
  buttons,
  submit,
  isResult = false,
  isWide = false,
  children,
}: {
  title: ComponentChildren;
  close: () => void;
  closeWord?: string;
  /** classes of the button that closes it */
  closeLook?: string;
  /** While its action runs, it stays open, because it shows the outcome. */
  isBusy?: boolean;
  problem?: Pick<Problem, 'text'> | undefined;
  /** after the one that closes it */
  buttons?: ComponentChildren;
  /** makes it a form */
  submit?: () => Promise<void>;
  /** whether a click outside closes it, and its button stays in view while its content scrolls */
  isResult?: boolean;
  /** whether its content is in columns */
  isWide?: boolean;
  children?: ComponentChildren;
}): JSX.Element {
  const dialog = useModal();
  const first = useRef<HTMLButtonElement>(null);
  const id = useId();
  // A layout effect, so that a key that is pressed now confirms nothing.
  useLayoutEffect(() => {
    if (submit === undefined) first.current?.focus();
  }, []);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDialogElement>): void => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    if (!isBusy) close();
  };
  const content = (
    <>
      {children}
      <Failure problem={problem} />
      <div class={isResult ? 'dialog-buttons line dialog-buttons-stay' : 'dialog-buttons line'}>
        <Button ref={first} look={closeLook} isBusy={isBusy} act={close}>
          {closeWord}
        </Button>
        {buttons}
      </div>
    </>
  );
  return (
    <dialog
      ref={dialog}
      class={isWide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={id}
      onKeyDown={onKeyDown}
      onClick={({ target, currentTarget }) => isResult && target === currentTarget && close()}
    >
      <h2 id={id}>{title}</h2>
      {submit === undefined ? (
        content
      ) : (
        <Form class="stack s3" submit={() => (isBusy ? undefined : submit())}>
          {content}
        </Form>
      )}
    </dialog>
  );
}
