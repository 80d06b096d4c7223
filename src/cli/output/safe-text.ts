/**
 * What comes from a server may contain what others wrote: names, reasons, messages. Control characters in it are shown
 * and not obeyed. Kept are line feeds, tabs, and the colours that the command line itself puts around texts.
 */
const CONTROLS =
  // oxlint-disable-next-line no-control-regex -- what is looked for
  /\u001b\[[0-9;]*m|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** `colours`: whether the text may have some. */
export function safeText(text: string, colours: boolean): string {
  return text.replaceAll(CONTROLS, (found) => (found.length > 1 && colours ? found : escaped(found)))
}

function escaped(text: string): string {
  return [...text].map((character) => (isControl(character) ? codeOf(character) : character)).join('')
}

function isControl(character: string): boolean {
  return character < ' ' || character > '~'
}

/** `\u001b` */
function codeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
