import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { css, editorWorkerService, graphqlWorker, js, jsonWorker } from '@graphql-yoga/render-graphiql/graphiql'
import { GRAPHIQL_DIRECTORY, GRAPHIQL_PAGE, GRAPHIQL_PREFIX } from '../src/http/graphiql-files.ts'
import { writeCompressed } from './bundle.ts'

const GREETING = `# Put a token into the headers below. The first
# is in the file "admin-token" of the data directory.
{
  sessions(first: 10) {
    totalCount
    edges {
      node {
        name
        status
        retryState {
          label
          phase
          reason
        }
      }
    }
  }
}
`
const OPTIONS = {
  title: 'Reprise',
  subscriptionsProtocol: 'WS',
  headers: JSON.stringify({ authorization: 'Bearer ' }),
  defaultQuery: GREETING,
  // The headers hold a token.
  shouldPersistHeaders: false,
}

/** The best of brotli's takes ten seconds for the editor, and saves another 3 %. */
const BROTLI_QUALITY = 9

/**
 * Writes the page of GraphiQL and the files that it loads: the editor, its style and its workers, only compressed,
 * because plain they have eight megabytes. A file's name changes with its content.
 */
export async function bundleGraphiQL(bundle: string): Promise<void> {
  const directory = join(bundle, GRAPHIQL_DIRECTORY)
  await mkdir(directory)

  async function write(name: string, ending: string, text: string): Promise<string> {
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 16)
    const file = `${name}-${digest}.${ending}`
    await writeCompressed(join(directory, file), text, BROTLI_QUALITY)
    return GRAPHIQL_PREFIX + file
  }

  const [style, editorWorker, json, graphql] = await Promise.all([
    write('style', 'css', css),
    write('editor-worker', 'js', editorWorkerService),
    write('json-worker', 'js', jsonWorker),
    write('graphql-worker', 'js', graphqlWorker),
  ])
  const workers = JSON.stringify({ editorWorkerService: editorWorker, json, graphql })
  const script = await write(
    'editor',
    'js',
    `self.MonacoEnvironment = { globalAPI: false, getWorkerUrl: (_module, label) => (${workers})[label] };
${js};
YogaGraphiQL.renderYogaGraphiQL(document.querySelector('#root'), ${JSON.stringify(OPTIONS)});
`,
  )
  await writeFile(join(directory, GRAPHIQL_PAGE), pageWith(style, script))
}

function pageWith(style: string, script: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Reprise</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${style}">
<script defer src="${script}"></script>
<body id="body" class="no-focus-outline">
<noscript>GraphiQL needs JavaScript.</noscript>
<div id="root"></div>
</body>
</html>
`
}
