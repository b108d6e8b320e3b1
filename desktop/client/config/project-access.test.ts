import assert from 'node:assert/strict';
import { EnvironmentError, fillIn } from './project-access.ts';

const ENV = { DOOR: 'mild-oak-fern', ANN_2: 'a$b${DOOR}', EMPTY: '' };

describe('fillIn', () => {
  it('inserts the values of variables unchanged', () => {
    for (const [text, filled] of [
      ['${DOOR}', 'mild-oak-fern'],
      ['ann:${ANN_2}', 'ann:a$b${DOOR}'],
      ['${DOOR}${DOOR}', 'mild-oak-fernmild-oak-fern'],
      ['no variables', 'no variables'],
      ['pa$$word$DOOR$', 'pa$$word$DOOR$'],
      ['$${DOOR}', '${DOOR}'],
      ['$${', '${'],
    ] as const)
      assert.equal(fillIn(text, ENV), filled);
  });

  it('names a variable that is unset or empty', () => {
    for (const name of ['NOT_SET', 'EMPTY'])
      assert.throws(
        () => fillIn(`x\${${name}}`, ENV),
        (error) => error instanceof EnvironmentError && error.message === `the variable ${name} is not set`,
      );
  });

  it('leaves any other text alone', () => {
    for (const text of ['${}', '${a b}', '${1}', '${DOOR', '${DOOR:-x}', '${env:DOOR}'])
      assert.throws(() => fillIn(text, ENV), EnvironmentError, text);
  });
});
