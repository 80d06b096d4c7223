import { GraphQLError, parse, visit } from 'graphql'
import type { ASTNode, ASTVisitor, ParseOptions, ValidationRule } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { QUERY_ALIASES_MAX, QUERY_DIRECTIVES_MAX, QUERY_TOKENS_MAX } from './limits.ts'

/** Limits what a document may cost before it is executed: tokens while parsing, then aliases and directives. */
export function useDocumentLimits(): Plugin {
  return {
    onParse({ setParseFn }) {
      setParseFn((source: string, options?: ParseOptions) =>
        parse(source, { ...options, maxLexicalTokens: QUERY_TOKENS_MAX }),
      )
    },
    onValidate({ addValidationRule }) {
      addValidationRule(repetitionLimits)
    },
  }
}

/** Counts in the document as written: a fragment counts once, however often it is used. */
const repetitionLimits: ValidationRule = (context): ASTVisitor => ({
  Document(document) {
    const report = (what: string, nodes: ASTNode[], limit: number) => {
      if (nodes.length <= limit) return
      const message = `The document has ${nodes.length} ${what}, and the limit is ${limit}.`
      context.reportError(
        new GraphQLError(message, { nodes: nodes[limit]!, extensions: { code: 'VALIDATION_FAILED' } }),
      )
    }
    const aliases: ASTNode[] = []
    const directives: ASTNode[] = []
    visit(document, {
      Field: ({ alias }) => void (alias && aliases.push(alias)),
      Directive: (node) => void directives.push(node),
    })
    report('aliases', aliases, QUERY_ALIASES_MAX)
    report('directives', directives, QUERY_DIRECTIVES_MAX)
  },
})
