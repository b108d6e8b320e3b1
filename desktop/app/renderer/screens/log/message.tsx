import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { utf8Text } from '../../../../client/inspector/readable.ts';
import type { DetailView, MessageView } from '../../../../client/inspector/records.ts';
import { t } from '../../../messages/translate.ts';
import { cookiesOf, headersOf, type Pairs, queryOf, rawMessage } from '../../model/message.ts';
import { countText } from '../../model/numbers.ts';
import { faultCode, type MessageKind, outcome } from '../../model/request.ts';
import { type CopiedThing, CopyButton } from '../../view/controls.tsx';
import { Folded, Notice, type Tab, Table, Tabs } from '../../view/kit.tsx';
import { Body } from '../body/body.tsx';
import { Socket } from './socket.tsx';

/** The response and the request: side by side if the pane is wide enough, else one below the other. */
export function Exchange({ tunnelKey, detail }: { tunnelKey: string; detail: DetailView }): JSX.Element {
  if (outcome(detail) === 'unsent') {
    return (
      <>
        <Notice>{t('request.notSentYet')}</Notice>
        <Message of="request" message={detail.request} />
      </>
    );
  }
  return (
    <div class="exchange">
      {detail.messages !== undefined && <Socket tunnelKey={tunnelKey} detail={detail} />}
      <div class="messages stack s3">
        <Message
          of="response"
          message={detail.response}
          missing={detail.isBroken ? t('request.brokeBefore') : t('request.notYet')}
          isByCulvert={faultCode(detail) !== undefined}
        />
        <Message of="request" message={detail.request} />
      </div>
    </div>
  );
}

function Message({
  of,
  message,
  missing,
  isByCulvert = false,
}: {
  of: MessageKind;
  message: MessageView | undefined;
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
        <Parts of={of} title={title} message={message} isByCulvert={isByCulvert} />
      )}
    </section>
  );
}

type Part = 'body' | 'query' | 'headers' | 'cookies' | 'raw';

/** The part that was chosen last, because people compare the same part of one request after the other. */
const lastChosen: Record<MessageKind, Part | undefined> = { request: undefined, response: undefined };

/** A request or a response: its body first, because that is what people look for, and its other parts. */
function Parts({
  of,
  title,
  message,
  isByCulvert,
}: {
  of: MessageKind;
  title: string;
  message: MessageView;
  isByCulvert: boolean;
}): JSX.Element {
  const [chosen, setChosen] = useState(lastChosen[of]);
  const pairs = useMemo(
    () => ({ query: queryOf(message), headers: headersOf(message), cookies: cookiesOf(message) }),
    [message],
  );
  const tabs: Tab<Part>[] = [{ id: 'body', label: title }];
  for (const id of ['query', 'headers', 'cookies'] as const)
    if (pairs[id].length > 0) tabs.push({ id, label: t(`request.tab.${id}`), count: pairs[id].length });
  tabs.push({ id: 'raw', label: t('request.tab.raw') });
  const first = message.body.length === 0 && pairs.headers.length > 0 ? 'headers' : 'body';
  const shown = tabs.find(({ id }) => id === chosen)?.id ?? first;
  const choose = (part: Part): void => {
    lastChosen[of] = part === 'body' ? undefined : part;
    setChosen(part);
  };
  return (
    <Tabs label={title} tabs={tabs} value={shown} choose={choose}>
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
