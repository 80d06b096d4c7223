import { bashCompletion } from './bash.ts'
import { fishCompletion } from './fish.ts'
import { zshCompletion } from './zsh.ts'

/** The script of each shell, for the commands of a program. It completes `reprise` and `npx reprise`. */
export const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }
