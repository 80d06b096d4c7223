import { join } from 'node:path'
import { commandLine } from '../../support/programs/command-line.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

export interface CommandServer {
  server: TestServer
  /** The only place that the commands read settings from. */
  directory: string
  /** Settings with which a command finds the server, as its administrator. */
  environment: Record<string, string>
  /** Runs a command with these settings. */
  reprise: ReturnType<typeof commandLine>
}

/** Starts the API in this process, where nothing drives sessions, and gives commands the settings for it. */
export async function serveCommands(purpose: string): Promise<CommandServer> {
  const server = await startGraphQLServer()
  const directory = await temporaryDirectory(purpose)
  const config = { XDG_CONFIG_HOME: directory, REPRISE_DATA_DIR: join(directory, 'none') }
  const environment = { ...config, REPRISE_URL: server.url, REPRISE_TOKEN: server.adminToken }
  return { server, directory, environment, reprise: commandLine(environment) }
}
