/** How a visit ended. */
import { formatRequest, type RawConnection, type Request, type Response } from '../../../support/raw-http.ts';
import { Scope } from '../../../support/scope.ts';
import type { Front } from '../../tools/fronts.ts';

/**
 * - `whole`: a response of the service, complete and right
 * - `refused`: a complete response of the relay's own, which says that the service gives none
 * - `broken`: the connection broke, so nobody mistakes what came for a whole response
 * - `wrong`: what came looks like a whole response, but is not
 * - `endless`: nothing, for as long as anybody may have to wait
 */
export type Outcome = 'whole' | 'refused' | 'broken' | 'wrong' | 'endless';

/** What a visitor asks for, and what a whole response to it has to be. */
export interface Question {
  readonly request: Request;
  readonly content: string;
}

/**
 * Asks, and reads to the end.
 *
 * @param patienceMs how long the visitor waits for the next byte
 * @param behind called once the request is written
 */
export async function outcomeOf(
  front: Front,
  question: Question,
  patienceMs: number,
  behind: (visitor: RawConnection) => void = () => {},
): Promise<Outcome> {
  const scope = new Scope();
  try {
    const visitor = await front.open(scope, { timeoutMs: patienceMs });
    await visitor.write(formatRequest(question.request));
    behind(visitor);
    return judge(await visitor.response(question.request.method), question.content);
  } catch (error) {
    return String(error).includes('no bytes within') ? 'endless' : 'broken';
  } finally {
    await scope.end();
  }
}

function judge({ status, head, text }: Response, content: string): Outcome {
  if (status === 200 && text === content) return 'whole';
  return head.field('culvert-error') === undefined ? 'wrong' : 'refused';
}
