import { render } from 'preact';
import { App } from './app.tsx';
import './style/main.css';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no root');
render(<App bridge={window.culvert} />, root);
