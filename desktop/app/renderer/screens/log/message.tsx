import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { utf8Text } from '../../../../client/inspector/readable.ts';
import {
  cookiesOf,
  type DetailView,
  type MessageView,
  type Pairs,
} from '../../../../client/inspector/records.ts';
import { t } from '../../../messages/translate.ts';
import { queryOf, rawMessage, readablePairs } from '../../model/message.ts';
import { countText } from '../../model/numbers.ts';
import { faultCode, type MessageKind, outcome } from '../../model/request.ts';
import { type CopiedThing, CopyButton } from '../../view/controls.tsx';
import { Folded, Notice, type Tab, Table, Tabs } from '../../view/kit.tsx';
import { Body } from '../body/body.tsx';
import { Socket } from './socket.tsx';

/**
 * The response and the request: side by side if the pane is wide enough, else one below the other. Messages of an open
 * connection need the whole width.
 */
export function Exchange({ tunnelKey, detail }: { tunnelKey: string; detail: DetailView }): JSX.Element {
  if (outcome(detail) === 'unsent') {
    return (
      <>
        <Notice>{t('request.notSentYet')}</Notice>
        <Message of="request" message={detail.request} />
      </>
    );
  }
  const { messages } = detail;
  return (
    <div class="exchange">
      <div class={`messages stack s3 ${messages === undefined ? 'beside' : ''}`}>
        <Message
          of="response"
          message={detail.response}
          carried={
            messages && {
              label: t(messages.kind === 'websocket' ? 'socket.title' : 'socket.events'),
              count: messages.fromVisitor + messages.fromService,
              list: <Socket tunnelKey={tunnelKey} detail={detail} />,
            }
          }
          missing={detail.isBroken ? t('request.brokeBefore') : t('request.notYet')}
          isByCulvert={faultCode(detail) !== undefined}
        />
        <Message of="request" message={detail.request} />
      </div>
    </div>
  );
}

/** The messages that came after a response, or in it. */
interface Carried {
  label: string;
  count: number;
  list: JSX.Element;
}

function Message({
  of,
  message,
  carried,
  missing,
  isByCulvert = false,
}: {
  of: MessageKind;
  message: MessageView | undefined;
  carried?: Carried | undefined;
  /** shown instead of a message that has not arrived */
  missing?: string;
  /** whether Culvert made it, which is told above */
  isByCulvert?: boolean;
}): JSX.Element {
  const title = t(`request.${of}`);
  return (
    <section class="message stack copied-by-hand" aria-label={title}>
      {message === undefined ? (
        <>
          <h2>{title}</h2>
          <Notice>{missing}</Notice>
        </>
      ) : (
        <Parts of={of} title={title} message={message} carried={carried} isByCulvert={isByCulvert} />
      )}
    </section>
  );
}

type Part = 'carried' | 'body' | 'query' | 'headers' | 'cookies' | 'raw';

/** The part that was chosen last, because people compare the same part of one request after the other. */
const lastChosen: Partial<Record<MessageKind | 'carried', Part | undefined>> = {};

/** A request or a response: its body first, because that is what people look for, and its other parts. */
function Parts({
  of,
  title,
  message,
  carried,
  isByCulvert,
}: {
  of: MessageKind;
  title: string;
  message: MessageView;
  carried: Carried | undefined;
  isByCulvert: boolean;
}): JSX.Element {
  const kind = carried === undefined ? of : 'carried';
  const [chosen, setChosen] = useState(lastChosen[kind]);
  const pairs = useMemo(
    () => ({
      query: queryOf(message),
      headers: readablePairs(message.fields),
      cookies: readablePairs(cookiesOf(message)),
    }),
    [message],
  );
  const isEmpty = message.body.length === 0;
  const tabs: Tab<Part>[] = [];
  if (carried !== undefined) tabs.push({ id: 'carried', label: carried.label, count: carried.count });
  if (carried === undefined || !isEmpty) tabs.push({ id: 'body', label: title });
  for (const id of ['query', 'headers', 'cookies'] as const)
    if (pairs[id].length > 0) tabs.push({ id, label: t(`request.tab.${id}`), count: pairs[id].length });
  tabs.push({ id: 'raw', label: t('request.tab.raw') });
  const first = carried === undefined ? 'body' : 'carried';
  const shown =
    tabs.find(({ id }) => id === chosen)?.id ??
    (first === 'body' && isEmpty && pairs.headers.length > 0 ? 'headers' : first);
  const choose = (part: Part): void => {
    lastChosen[kind] = part === first ? undefined : part;
    setChosen(part);
  };
  return (
    <Tabs label={title} tabs={tabs} value={shown} choose={choose}>
      {shown === 'carried' && carried?.list}
      {shown === 'body' && !isByCulvert && <Body of={of} message={message} />}
      {shown === 'body' && isByCulvert && (
        <Folded title={t('request.seen')}>
          <Body of={of} message={message} />
        </Folded>
      )}
      {shown === 'headers' && <Headers of={of} message={message} rows={pairs.headers} />}
      {(shown === 'query' || shown === 'cookies') && (
        <PairTable label={t(`request.tab.${shown}`)} rows={pairs[shown]} />
      )}
      {shown === 'raw' && <Raw of={of} message={message} />}
    </Tabs>
  );
}

/** Nobody reads more as a table. */
const MOST_PAIRS = 200;

function PairTable({ label, rows }: { label: string; rows: Pairs }): JSX.Element {
  const more = rows.length - MOST_PAIRS;
  return (
    <>
      {/* Not a hidden caption, which the browser would take for the first row, and make all columns equal. */}
      <Table aria-label={label} rows={rows.slice(0, MOST_PAIRS)} />
      {more > 0 && <p class="hint">{t('log.andMore', { count: countText(more) })}</p>}
    </>
  );
}

interface PartProps {
  of: MessageKind;
  message: MessageView;
}

/** The headers of a message, each with a button to copy its value. */
function Headers({ of, message, rows }: PartProps & { rows: Pairs }): JSX.Element {
  const { fields } = message;
  const copy = (index: number): JSX.Element | false => {
    const [name, value] = fields[index] ?? ['', ''];
    return value !== '' && <CopyButton what={{ kind: 'header', name }} text={() => utf8Text(value)} />;
  };
  return (
    <>
      <CopyAll
        kind={of === 'request' ? 'requestHeaders' : 'responseHeaders'}
        text={() => fields.map(([name, value]) => `${name}: ${utf8Text(value)}\n`).join('')}
      />
      <Table aria-label={t('bench.headers')} rows={rows} beside={copy} />
    </>
  );
}

/** The message as it passed. */
function Raw({ of, message }: PartProps): JSX.Element {
  const raw = useMemo(() => rawMessage(message), [message]);
  return (
    <>
      <CopyAll
        kind={of === 'request' ? 'rawRequest' : 'rawResponse'}
        text={() => new TextDecoder().decode(raw.body)}
      />
      <Body of="message" message={raw} />
    </>
  );
}

function CopyAll({ kind, text }: Pick<CopiedThing, 'kind'> & { text: () => string }): JSX.Element {
  return (
    <div class="copy-all">
      <CopyButton what={{ kind, name: '' }} text={text} />
    </div>
  );
}
