import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import { isSame, type ShownRow } from '../../model/bench/answer-diff.ts';

/** Two texts side by side, or below each other where there is no room; what differs is marked, not by colour alone. */
export function DiffRows({ title, rows }: { title: string; rows: readonly ShownRow[] }): JSX.Element {
  return (
    <div class="diff mono" tabIndex={0} role="region" aria-label={t('bench.beforeAndNow', { title })}>
      {rows.map((row, index) => {
        if (typeof row === 'number')
          return (
            <p key={index} class="diff-same">
              {t('bench.linesNotShown', { lines: row })}
            </p>
          );
        const { before, after } = row;
        if (isSame(row))
          return (
            <div key={index} class="diff-row" dir="ltr">
              <span>{before}</span>
              <span class="diff-again" aria-hidden="true">
                {after}
              </span>
            </div>
          );
        return (
          <div key={index} class="diff-row" dir="ltr">
            {before === undefined ? (
              <span class="diff-none" />
            ) : (
              <Side is="del" said={t('bench.before')} text={before} />
            )}
            {after === undefined ? (
              <span class="diff-none" />
            ) : (
              <Side is="ins" said={t('bench.now')} text={after} />
            )}
          </div>
        );
      })}
    </div>
  );
}

/** A line that differs. @param said which of the two it is, for ears only */
function Side({ is: Tag, said, text }: { is: 'del' | 'ins'; said: string; text: string }): JSX.Element {
  return (
    <Tag>
      <span class="unseen">{said} </span>
      {text}
    </Tag>
  );
}
