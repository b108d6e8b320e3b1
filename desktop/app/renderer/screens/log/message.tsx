import type { JSX } from 'preact';
import { useId, useMemo, useState } from 'preact/hooks';
import { escapeUnprintable } from '../../../../../shared/unprintable.ts';
import { utf8Text } from '../../../../client/inspector/readable.ts';
import type { DetailView, MessageView } from '../../../../client/inspector/records.ts';
import { t } from '../../../messages/translate.ts';
import { addressParameters } from '../../model/address.ts';
import { countText } from '../../model/numbers.ts';
import { faultCode, headersSummary, type MessageKind, outcome } from '../../model/request.ts';
import { CopyButton } from '../../view/controls.tsx';
import { Button, Folded, FoldMark, Notice, Table, Toggles } from '../../view/kit.tsx';
import { Body } from '../body/body.tsx';
import { Socket } from './socket.tsx';

const PARTS = ['response', 'request'] as const;

/** The response and the request: side by side if the pane is wide enough, else one of them at a time. */
export function Exchange({ tunnelKey, detail }: { tunnelKey: string; detail: DetailView }): JSX.Element {
  const [shown, setShown] = useState<MessageKind>('response');
  if (outcome(detail) === 'unsent') {
    return (
      <>
        <Notice>{t('request.notSentYet')}</Notice>
        <Message of="request" message={detail.request} />
      </>
    );
  }
  const isSocket = detail.messages?.kind === 'websocket';
  return (
    <div class="exchange">
      {detail.messages !== undefined && <Socket tunnelKey={tunnelKey} detail={detail} />}
      <Toggles
        label={t('request.parts')}
        class="segments"
        look=""
        choices={PARTS.map((part) => [part, t(`request.${part}`)])}
        value={shown}
        choose={setShown}
      />
      <div class="messages stack s3" data-shown={shown}>
        <Message
          of="response"
          message={detail.response}
          missing={detail.isBroken ? t('request.brokeBefore') : t('request.notYet')}
          isSocket={isSocket}
          isByCulvert={faultCode(detail) !== undefined}
        />
        <Message of="request" message={detail.request} isSocket={isSocket} />
      </div>
    </div>
  );
}

/** A request or a response: its body first, because that is what people look for, and its fields below, folded. */
function Message({
  of,
  message,
  missing,
  isSocket = false,
  isByCulvert = false,
}: {
  of: MessageKind;
  message: MessageView | undefined;
  /** shown instead of a message that has not arrived */
  missing?: string;
  /** whether it opened a WebSocket, whose messages are above */
  isSocket?: boolean;
  /** whether Culvert made it, which is told above */
  isByCulvert?: boolean;
}): JSX.Element {
  const title = t(`request.${of}`);
  return (
    <section class={`message message-${of} box stack copied-by-hand`} aria-label={title}>
      <h2>{title}</h2>
      {message === undefined ? (
        <Notice>{missing}</Notice>
      ) : (
        <>
          {isSocket && message.body.length === 0 ? null : isByCulvert ? (
            <Folded title={t('request.seen')}>
              <Body of={of} message={message} />
            </Folded>
          ) : (
            <Body of={of} message={message} />
          )}
          <Parameters startLine={message.startLine} />
          <Headers of={of} message={message} isFolded={isSocket} />
        </>
      )}
    </section>
  );
}

/** The start line and the fields of a message. Folded if there is something above them that people look for. */
function Headers({
  of,
  message,
  isFolded,
}: {
  of: MessageKind;
  message: MessageView;
  isFolded: boolean;
}): JSX.Element {
  const { startLine, fields, body } = message;
  const [chosen, setChosen] = useState<boolean>();
  const isOpen = chosen ?? (body.length === 0 && !isFolded);
  const id = useId();
  const lines = (): string => fields.map(([name, value]) => `${name}: ${utf8Text(value)}\n`).join('');
  return (
    <div>
      <div class="headers-bar">
        <Button look="headers-fold" aria-expanded={isOpen} aria-controls={id} act={() => setChosen(!isOpen)}>
          <FoldMark isOpen={isOpen} />
          <b>{t('request.headers', { count: fields.length })}</b>
          <bdi class="dim cut">{headersSummary(fields)}</bdi>
        </Button>
        {fields.length > 0 && (
          <CopyButton
            what={{ kind: of === 'request' ? 'requestHeaders' : 'responseHeaders', name: '' }}
            text={lines}
          />
        )}
      </div>
      <div id={id} hidden={!isOpen}>
        {isOpen && (
          <>
            <p class="mono" dir="ltr">
              {escapeUnprintable(utf8Text(startLine))}
            </p>
            <Fields fields={fields} />
          </>
        )}
      </div>
    </div>
  );
}

/** The fields of a message as a table, each with a button to copy its value. */
function Fields({ fields }: Pick<MessageView, 'fields'>): JSX.Element | null {
  if (fields.length === 0) return null;
  const copy = (index: number): JSX.Element | false => {
    const [name, value] = fields[index] ?? ['', ''];
    return value !== '' && <CopyButton what={{ kind: 'header', name }} text={() => utf8Text(value)} />;
  };
  return (
    // Not a hidden caption, which the browser would take for the first row, and make all columns equal.
    <Table
      aria-label={t('bench.headers')}
      rows={fields.map(([name, value]) => [escapeUnprintable(name), escapeUnprintable(utf8Text(value))])}
      beside={copy}
    />
  );
}

/** The parameters of an address as a table; nothing if it has none. */
function Parameters({ startLine }: { startLine: string }): JSX.Element | null {
  const { shown, more } = useMemo(() => addressParameters(startLine), [startLine]);
  if (shown.length === 0) return null;
  return (
    <>
      <Table caption={t('log.parameters')} rows={shown} />
      {more > 0 && <p class="hint">{t('log.andMore', { count: countText(more) })}</p>}
    </>
  );
}
