import { render } from 'preact';
import { chooseLocale } from '../messages/locale.ts';
import { setLocale } from '../messages/translate.ts';
import { App } from './app.tsx';
import './style/main.css';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no root');
// Until main sends the user's choice.
setLocale(chooseLocale('system', navigator.languages));
render(<App bridge={window.culvert} />, root);
