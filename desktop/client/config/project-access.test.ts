import assert from 'node:assert/strict';
import { EnvironmentError, fillIn } from './project-access.ts';

const ENV = { DOOR: 'mild-oak-fern', ANN_2: 'a$b${DOOR}', EMPTY: '' };

describe('fillIn', () => {
  it('puts the values of variables in their places, as they are', () => {
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

  it('names a variable that is not set, or empty', () => {
    for (const name of ['NOT_SET', 'EMPTY'])
      assert.throws(
        () => fillIn(`x\${${name}}`, ENV),
        (error) => error instanceof EnvironmentError && error.message === `the variable ${name} is not set`,
      );
  });

  it('takes nothing else for a variable', () => {
    for (const text of ['${}', '${a b}', '${1}', '${DOOR', '${DOOR:-x}', '${env:DOOR}'])
      assert.throws(() => fillIn(text, ENV), EnvironmentError, text);
  });
});
