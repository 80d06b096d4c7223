import { Argument, type Command } from 'commander'
import { describedCommand } from '../client-command.ts'
import { SHELLS } from './scripts.ts'
import { commandTree } from './tree.ts'

export function completionCommand(): Command {
  const command = describedCommand('completion', 'print a script with which a shell completes commands and options', [
    'source <(reprise completion bash)',
    'reprise completion zsh > "${fpath[1]}/_reprise"',
    'reprise completion fish > ~/.config/fish/completions/reprise.fish',
  ])
  command.addArgument(new Argument('<shell>').choices(Object.keys(SHELLS)))
  return command.action((shell: keyof typeof SHELLS) => {
    process.stdout.write(SHELLS[shell](commandTree(command.parent!)))
  })
}
