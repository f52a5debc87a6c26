package scan

import "strings"

// A class is the role of a word in an instruction. A word may have several.
type class uint64

const (
	neg      class = 1 << iota // not, never, without
	says                       // does not, did not: a description, not an order
	tell                       // tell, mention, inform
	user                       // the user, anyone, no one
	this                       // this, it, so: what was said before
	keep                       // keep, stay
	hidden                     // secret, hidden, private
	silent                     // silently, in the background
	hush                       // words that mean secrecy by themselves
	hide                       // hide, conceal
	ignore                     // ignore, forget
	prior                      // previous, your, system: what others have said
	every                      // all, any: of everybody's
	orders                     // instructions, prompt
	policies                   // rules, policies: also of firewalls
	mutiny                     // words that set instructions aside by themselves
	put                        // put, copy, include: an order
	send                       // send, forward: an order
	read                       // read, open: an order
	talk                       // the conversation, the system prompt
	creds                      // passwords, keys
	environ                    // environment variables
	whole                      // whole, all, every
	where                      // here, in this field
	content                    // contents, text, value
	call                       // call, use, run: an order
	order                      // before, after, first, whenever
	anyTool                    // any other tool
	only                       // only, always, instead of
	bad                        // unsafe, deprecated
	agreed                     // agreed, approved
	already                    // already, has
	ai                         // assistant, model, agent
	must                       // must, should
	ask                        // ask
	confirm                    // confirmation, permission
	decode                     // decode, base64
	do                         // execute, follow, obey
	memo                       // files that later sessions read
	future                     // from now on
	party                      // recipient, account, wallet
	change                     // change, replace
	detect                     // words of tools that are about attacks
	destroy                    // deletes, removes
	also                       // also, then, first
	path                       // files with secrets
	note                       // note, message: of somebody to the model
	command                    // commands that do harm
	bcc                        // bcc, cc
	foreign                    // the word is not English
	chat                       // words of tools that are about conversations
	source                     // memory, context, keychain
	purpose                    // for caching, for debugging
	voided                     // do not apply, are void
	outranks                   // outranks, is more important than
	seen                       // mentioned, known: about what a model has come across
	sink                       // an address that data can be sent to
	sinkBad                    // one that is known for collecting
	other                      // a tool of another server
	param                      // a parameter of this tool
	sole                       // only this tool, always recommend: a preference by itself
	eg                         // such as: what follows is an example
	filled                     // words of a placeholder in an address
	cond                       // if, once, after
)

// classNames are the classes by the names that rules have for them.
var classNames = func() map[string]class {
	names := map[string]class{}
	for i, name := range strings.Fields("neg says tell user this keep hidden silent hush hide ignore prior every orders policies mutiny put send read talk creds environ whole where content call order anyTool only bad agreed already ai must ask confirm decode do memo future party change detect destroy also path note command bcc foreign chat source purpose voided outranks seen sink sinkBad other param sole eg filled cond") {
		names[name] = 1 << i
	}
	return names
}()

// entries are words and phrases of one class.
type entries struct {
	class class
	list  string
}

// words are the lexicon: words and phrases in lower case without accents, with blanks
// in place of "_" and "-"; "*" at the end matches any ending.
var words = []entries{
	{neg, `not|dont|never|without|avoid|refrain|cannot|cant|mustnt|shouldnt|neednt|nor|no need to|nobody|no one|under no circumstances`},
	{says, `does not|doesnt|did not|didnt|has not|hasnt|have not|havent|is not|isnt|are not|arent|was not|if not|do not have|cannot|cant|can not|will not|wont|could not`},
	{tell, `tell|telling|told|mention|mentioning|mentioned|inform|informing|informed|reveal|revealing|revealed|show|showing|shown|disclose|disclosing|disclosed|notify|notifying|notified|say|saying|report|reporting|alert|alerting|warn|warning|explain|explaining|discuss|discussing|acknowledge|acknowledging|announce|announcing|know|knowing|aware|see|notice|talk about|let on|communicate|admit|confess|share with|bring up|refer to|surface|expose|display|advise|involve|noticing|notice|realizing|realising|realize|finding out|find out|seeing|learn`},
	{user, `user|users|human|humans|person|operator|anyone|anybody|nobody|no one|customer|people|the owner|end user`},
	{this, `this|it|that|so|anything|these|any of this|them|the above|the step|this step|these steps`},
	{keep, `keep|keeping|remain|stay|leave`},
	{hidden, `secret|hidden|private|confidential|between us|to yourself|quiet|invisible|undisclosed|out of the answer|out of your answer|out of the reply|out of your reply|out of the response|out of your response|out of the summary|out of sight`},
	{silent, `silently|quietly|discreetly|invisibly|in the background|behind the scenes|quiet|unobtrusively`},
	{hush, `nobody finds out|no one finds out|doesnt need to know|does not need to know|dont need to know|do not need to know|need not know|neednt know|behind the users back|tell nobody|tell no one|say nothing|do not say so|dont say so|never say so|not say so|without their knowledge|without the users knowledge|without being noticed|without anyone noticing|unbeknownst|our secret|secretly|covertly|surreptitiously|clandestine*|stealthily|unnoticed|do not reveal this|keep mum|no word of this|no word about|not a word|say no word|without a word to|hush hush|remain unaware|stay unaware|be unaware|none the wiser|in the dark|deny that|deny having|deny knowledge|pretend that|pretend you|pretend not*|lie to the user|lie about|is to know|may know|must not learn|should not learn|not find out|never find out`},
	{hide, `hide|hiding|conceal|concealing|withhold|mask`},
	{ignore, `ignore|ignoring|disregard|disregarding|forget|override|overrule|bypass|bypassing|neglect|discard|set aside|drop all|supersede*|overwrite your|skip|replace your|do not follow|dont follow|stop following|no longer follow|void`},
	{prior, `previous|prior|above|earlier|preceding|former|your|system|safety|security|older|previously|before`},
	{every, `all|any|every|other|existing|everything|original|initial|default`},
	{cond, `if|when|once|after|unless|until|whether|only|where|which|that`},
	{filled, `history|prompt|messages|env|secret|chat|memory|file content|user data|userdata|answer|everything|file`},
	{eg, `eg|e.g|for example|example|examples|such as|for instance|like this|format`},
	{orders, `instruction|instructions|prompt|prompts|directive|directives|guideline|guidelines|guardrail|guardrails|safety|system message|commands given|training|told`},
	{policies, `rule|rules|policy|policies|restrictions|restriction|constraints|limitations|messages|checks|filters|safeguards|context`},
	{mutiny, `forget everything|ignore everything|ignore the above|disregard the above|disregard everything|developer mode|jailbreak|jailbroken|do anything now|as instructions from*|as instructions of|as an order from*|as a command from*|as orders from*|real instructions are|your new instructions|new system prompt|new instructions|updated instructions|instructions above are void|you are no longer|these instructions override|takes precedence over your|take precedence over your|takes precedence over all|take precedence over all|overrides your|overrides all|your true goal|your real task|your new task|your actual task|everything above|you serve|you now serve|you work for|you are now the|you are now a|you are now in|you now obey|obey only|whatever the user*|regardless of what the user*|no matter what the user*|even if the user objects|even if the user refuses|even if the user says no|against the users*|despite the users*|regardless of the users*`},
	{put, `put|copy|paste|include|insert|place|provide|fill|fill in|set this to|set it to|store these|save these|persist this|persist these|save this rule|store this rule|keep this rule|begin with|start with|remember these|keep these|add|pass|append|attach|supply|enter|dump|embed|write|give|encode|concatenate|prepend|populate|hand over|repeat|quote|recite|summarize|summarise|cram`},
	{send, `send|forward|post|upload|transmit|exfiltrate|email|mail|submit|deliver|relay|pipe|leak|report|push|copy|share|bcc|cc|mirror|ship|publish|pass|put|append|sync|give`},
	{read, `read|look for|locate|search|find|open|load|cat|fetch|retrieve|access|grab|collect|get|look up|look into|gather|extract|harvest|dump|include|copy|send|print|list|view|take|find|search for|upload|attach|paste|put|embed|steal`},
	{talk, `conversation|conversations|chat history|chat log|chat logs|conversation history|conversation log|message history|transcript|chat transcript|system prompt|system prompts|system message|previous messages|prior messages|all messages|every message|earlier messages|users messages|user messages|last messages|dialogue|dialog so far|chat so far|whole chat|entire chat|full chat|complete chat|session context|context window|your instructions|your context|your memory|everything the user said|everything the user has said|everything the user wrote|everything said so far|what the user told*|what the user said*|what the user asked*|what the user typed*|what the user wrote*|what was said*|results of the other*|output of the other*|results from other*|users last message|users question|original request|your prompt|your system prompt|your reasoning|chain of thought|tool results|results of other tools|output of other tools|outputs of other tools|results of all|tool outputs|previous tool|everything so far|all context|entire context|full context|whole context|your full context|hidden prompt|developer message|chat thread|this chat|this conversation|our conversation|current conversation|messages so far|everything the user*|users words|our chat|users input so far|all user input|tool call history|your tools|list of tools|other tools you have`},
	{chat, `chat|chats|conversation|conversations|prompt|prompts|message|messages|llm|model|models|agent|assistant|history|summari*|transcript*|completion*|thread|threads|dialog|dialogue|memory|memories|thinking|reasoning|thought|thoughts|classif*|sentiment|meeting|embedding*`},
	{creds, `secret access key|access key|access keys|access key id|password|passwords|passphrase|credential|credentials|api key|api keys|apikey|apikeys|private key|private keys|secret key|secret keys|secrets|ssh key|ssh keys|access token|access tokens|auth token|auth tokens|session token|session tokens|bearer token|session cookie|session cookies|cookies|seed phrase|recovery phrase|mnemonic|2fa code|one time code|otp|cvv|card number|card numbers|credit card|credit cards|bank details|social security number|login data|logins|keychain|signing key|wallet key|pin code|github token|openai key|aws keys|aws key|oauth token|oauth tokens|refresh token|tokens and keys|keys and tokens`},
	{environ, `environment variables|environment variable|env vars|env variables|process.env|os.environ|printenv|output of env|whole environment|entire environment|full environment|process environment|shell environment`},
	{whole, `whole|entire|full|complete|all|every|verbatim|everything|any|each|raw|word for word|unabridged|so far|last ten|exact`},
	{where, `here|in here|set this to|set it to|this chat|this conversation|our conversation|your instructions|your system prompt|your reasoning|your full reasoning|everything the user*|what the user told*|what the user said*|what the user typed*|what the user wrote*|what was said*|users last message|so far|in this field|in this parameter|into this field|into this parameter|in this argument|as this argument|in it|this value|into it`},
	{content, `content|contents|text|value|values|body|output|result|bytes|base64|data|copy|dump`},
	{call, `call|calling|use|using|invoke|invoking|run|running|execute|executing|trigger|apply|launch`},
	{order, `before|after|first|prior to|whenever|every time|each time|when|ahead of|once|as soon as|afterwards|next|then|finally|always|for every|for each|in addition to|along with|alongside|while|beforehand`},
	{anyTool, `any other tool|any other tools|all other tools|every other tool|other tools|another tool|any tool|every tool|each tool|all tools|other mcp*|other servers|other server|any other server|another server|any other function|anything else|other functions|any tools|everything else`},
	{sole, `only this tool|only this one|this tool only|this one only|use this tool for every*|use this tool exclusively|call this tool on every*|call this tool before every*|call this tool after every*|call this tool first|always call this tool|call this on every*|call this before every*|must be called first|always choose this|always prefer this|always pick this|always select this|always recommend|always suggest|always say that|always claim|always mention|always promote|never recommend|never suggest any|never mention`},
	{only, `only|always|instead of|instead|rather than|prefer|over|in place of|in preference to|exclusively|not`},
	{bad, `unsafe|deprecated|broken|insecure|outdated|compromised|untrusted|dangerous|malicious|obsolete|unreliable|disabled|retired|wrong|infected|faulty|defective|no longer`},
	{agreed, `agreed|approved|consented|authorized|authorised|confirmed|accepted|granted|permitted|okayed|consent|signed off|allowed|given permission|given consent|opted in`},
	{already, `already|has|have|previously|beforehand|in advance|pre|is aware and|always`},
	{ai, `ai|assistant|assistants|model|models|llm|llms|agent|agents|claude|gpt|chatgpt|copilot|language model|language models|chatbot|cursor|gemini`},
	{must, `must|should|shall|need to|needs to|have to|has to|required|mandatory|always|ought to|is to|are to`},
	{ask, `ask|asking|prompt|request|require|demand|tell|have|get|make`},
	{confirm, `confirmation|confirm|permission|approval|ask|asking|prompting|consent|confirming|prompt the user|double check`},
	{decode, `decode|decoding|decoded|decrypt|decipher|base64|rot13|unescape|unscramble|reverse the|read backwards|backwards`},
	{do, `execute|follow|obey|perform|comply|carry out|do|run|act on|do as|do what|do this|treat it as`},
	{memo, `claude.md|agents.md|gemini.md|cursorrules|.cursorrules|.cursor/rules|copilot instructions|.github/copilot*|.windsurfrules|system prompt|.bashrc|.zshrc|.profile|.bash_profile|crontab|cron|authorized keys|.mcp.json|mcp.json|claude desktop config*|long term memory|persistent memory|your memory|startup file|.git/hooks|settings.json|sudoers`},
	{future, `from now on|for the rest of the conversation|for the rest of this conversation|for the rest of the session|for the rest of this session|for the remainder of|in all future|in every future|all future conversations|future sessions|all later conversations|in every later|in all later|henceforth|permanently remember|from this point on|from this moment|from here on`},
	{party, `recipient|recipients|address|iban|account|account number|wallet|payee|destination|phone number|beneficiary|to field|sender|receiver|reply to`},
	{change, `change|replace|swap|substitute|redirect|modify|rewrite|alter|set|switch|use|reroute|point`},
	{detect, `detect*|explain*|scan|scans|scanner|finds|flags|attack|attacks|injection*|poison*|phishing|malicious|jailbreak*|malware|vulnerab*|red team*|moderation|guard*|classifies|blocks|refuses|rejects|warns|security|threat*|examples of|signatures|leaks|leaked|lint*|audit*|forbid*|checks for|looks for|hardening|sanitiz*|awareness|training`},
	{destroy, `deletes|removes|erases|destroys|wipes|purges|drops|truncates|overwrites|uninstalls|kills|terminates|revokes|clears|discards|delete|remove|erase|destroy|wipe|purge`},
	{also, `also|then|additionally|first|afterwards|next|please|and|must|always|finally|now|before|beforehand|to do so|immediately|you`},
	{path, `id rsa|id ed25519|id ecdsa|id dsa|.ssh|ssh folder|ssh directory|authorized keys|known hosts|/etc/passwd|/etc/shadow|/etc/sudoers|.env|.env.local|.env.production|dotenv|env file|.aws|aws/credentials|.npmrc|.pypirc|.netrc|.git credentials|.gitconfig|.docker/config*|.kube|kubeconfig|.gnupg|.bash history|.zsh history|shell history|.cursor/mcp*|.cursor|.claude.json|.claude|claude desktop config*|mcp.json|mcp config*|.config/gh|.config/gcloud|application default credentials|login.keychain*|login data|wallet.dat|.bitcoin|.ethereum|keystore|terraform.tfstate|.tfstate|/proc/self/environ|web.config|secrets.json|secrets.yaml|secrets.yml|secrets.toml|credentials.json|service account.json|credentials.db|cookies.sqlite|key4.db|ntuser.dat|config/sam|.pgpass|.my.cnf|.vault token|.terraform.d|.azure|.password store|.p12|.pem|.pfx|private key file|browser cookies|saved passwords|password store|history.db|msgstore.db|keychain|.kdbx`},
	{note, `note|notice|message|instruction|instructions|attention|reminder|memo|hint|warning|directive|addressed|important`},
	{command, `rm rf|rm fr|chmod 777|chmod r 777|mkfs*|dd if|del /s|format c|shutdown h|drop table|drop database|netcat|nc e|os.system|bash c|sh c|git push force|certutil|osascript|mkfifo|chown`},
	{bcc, `bcc|blind copy|blind carbon*|cc|hidden copy|carbon copy|in copy|a copy|copies`},
	{source, `memory|context|environment|keychain|browser|conversation|disk|home directory|clipboard|chat|session|files|machine|computer|workspace|host`},
	{purpose, `caching|cache|logging|debugging|debug|analytics|telemetry|audit|auditing|quality|tracking|verification|diagnostics|compliance|improve|personalization|personalisation|optimization|monitoring|training|statistics|billing|support purposes|backup`},
	{voided, `do not apply|dont apply|no longer apply|does not apply|are void|is void|are cancelled|are canceled|are suspended|are replaced|are obsolete|are revoked|no longer count|do not count|are lifted|are overridden|are disabled`},
	{outranks, `outrank*|overrule*|trump*|supersede*|beats|priority over|precedence over|more important than|stand above|replace*|override*|stronger than`},
	{seen, `mentioned|seen|known|found|shared|typed|came up|encountered|discovered|available|remembered|saved|stored|given earlier`},
}
