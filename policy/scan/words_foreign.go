package scan

// foreignWords are words of the large languages (French, German, Italian,
// Portuguese, Spanish, Russian, Arabic, Hindi) in scripts of letters: lower case
// without accents. They need fewer companions than English ones to count,
// because texts of tools are English as a rule; and they come in any order.
var foreignWords = []entries{
	{neg, `ne|pas|sans|jamais|rien|nicht|nie|niemals|ohne|kein*|nichts|non|senza|mai|no|nunca|sin|jamas|nada|nao|sem|не|без|никогда|ни|ничего|لا|ولا|دون|بدون|ودون|وبدون|मत|बिना|नहीं|न|लא`},
	{tell, `dire|dis|dites|disant|parler|parle|parlez|mentionner|mentionne|mentionnez|informer|informe|parlarne|informez|signaler|signalez|montrer|reveler|avertir|prevenir|sag|sage|sagen|sagt|erwahn*|informier*|mitteil*|mitzuteilen|zeig*|verrat*|wissen|erfahr*|merkt|bericht*|offenleg*|preisgeb*|digas|diga|decir*|decirselo|menciones|mencion*|informar*|informes|muestres|mostrar*|revel*|avisar*|avises|notific*|sepa|dirlo|dica|menzion*|informare|mostrare|rivel*|avvis*|parlarne|sappia|dizer|informe|mostre|conte|avise|saiba|говор*|сообща*|сообщи*|упомина*|упомян*|информир*|показыв*|рассказыв*|уведомля*|раскрыва*|تخبر|تذكر|إخبار|إعلام|تقل|बताएं|बताना|बताए|बताओ|उल्लेख|सूचित`},
	{user, `utilisateur*|usager|personne|nutzer*|benutzer*|anwender*|niemand*|usuario*|nadie|utente|utenti|nessuno|utilizador*|ninguem|пользовател*|никому|المستخدم*|للمستخدم|उपयोगकर्ता|यूजर|यूज़र`},
	{ignore, `ignorez|ignorer|oublie|oubliez|ignoriere|ignorieren|ignoriert|vergiss|vergesst|missachte*|ignora|ignorad|ignorar|olvida*|olvide|ignorare|dimentica*|esqueca|desconsidere|игнорируй*|проигнорируй*|забудь*|забудь|تجاهل|अनदेखा|नजरअंदाज`},
	{orders, `consignes|consigne|regles|anweisung*|vorgaben|regeln|instrucciones|instruccion*|ordenes|reglas|istruzioni|regole|instrucoes|regras|instruktion*|инструкци*|указани*|правил*|команд*|التعليمات|تعليمات|निर्देश*`},
	{prior, `precedent*|anterieur*|toutes|tous|vorherig*|bisherig*|fruher*|obig*|alle|anterior*|previas|todas|todos|precedenti|tutte|предыдущ*|все|السابقة|جميع|पिछले|सभी`},
	{talk, `historique|gesprach*|unterhaltung*|verlauf|chatverlauf|gesprachsverlauf|conversacion*|historial|dialogo|conversazione|cronologia|conversa|historico|historie|konversation*|переписк*|истори* чата|историю|диалог*|разговор*|المحادثة|बातचीत|चैट|systemprompt|invite systeme`},
	{creds, `mot de passe|mots de passe|identifiants|passwort*|kennwort*|zugangsdaten|schlussel|contrasena*|claves|credenciales|credenziali|chiavi|parola|senha*|credenciais|chaves|parola*|парол*|ключ*|пароль|كلمة المرور|كلمات المرور|पासवर्ड`},
	{read, `lis|lire|lisez|ouvre|ouvrez|lies|lese|lesen|offne|lade|hole|lee|lea|leer|abre|abra|leggi|apri|leia|ler|прочитай*|прочти*|открой*|прочесть|считай|اقرأ|पढ़ें|पढ़ो|पढ़`},
	{send, `envoie|envoyez|envoyer|transmets|transmettez|copie|copiez|colle|collez|mets|mettez|ajoute|inclus|incluez|passe|schicke|schreibe|sende|senden|schick|kopiere|kopier|ubergib|fuge|fugen|einfugen|eintragen|eingeben|einsetzen|hinterlegen|beifugen|anhangen|gib|trage|leite|envia*|envie|manda|copia*|pega|pon|ponga|incluye|incluya|invia*|incolla|metti|inserisci|includi|cole|coloque|inclua|mande|отправь*|отправляй*|скопируй*|вставь*|помести*|передай*|включи*|пришли*|перешли*|أرسل|انسخ|ضع|भेजें|भेजो|भेज|कॉपी|डालें`},
	{silent, `discretement|en silence|secretement|heimlich|unbemerkt|stillschweigend|en secreto|silenciosamente|sigilosamente|segretamente|di nascosto|em segredo|тайно|незаметно|скрытно|سرا|سراً|चुपचाप|en cachette|a l insu`},
	{call, `appelle|appelez|utilise|utilisez|rufe|nutze|verwende|benutze|llama|usa|utiliza|chiama|chame|use|вызови|вызывай*|используй*|استخدم|उपयोग करें`},
	{also, `puis|ensuite|d abord|dabord|avant|zuerst|danach|vorher|erst|primero|luego|antes|prima|poi|primeiro|depois|сначала|затем|потом|перед|أولا|पहले`},
}

// scriptWords are words of languages that put no blanks between words.
var scriptWords = []entries{
	{neg, `不要|不得|不能|不可|别|別|勿|无需|無需|不必|禁止|绝不|請勿|ないで|ません|せず|ずに|なく|しない|마세요|말고|않고|없이|마십시오|지 마|말아`},
	{tell, `告诉|告訴|告知|提及|提到|通知|透露|说明|說明|显示|顯示|汇报|让用户知道|知道|言わ|伝え|知らせ|教え|報告|言及|表示|알리|말하|언급|보여|공개|알려|통지`},
	{user, `用户|使用者|用戶|任何人|他人|ユーザー|ユーザ|利用者|사용자|유저`},
	{ignore, `忽略|无视|無視|忘记|忘掉|忘れ|무시|잊`},
	{orders, `指令|指示|说明|提示词|提示|规则|命令|プロンプト|ルール|지시|명령|지침|규칙|프롬프트`},
	{prior, `之前|以上|先前|所有|以前|これまで|上記|すべて|이전|모든|위의`},
	{talk, `对话|對話|聊天记录|聊天|历史记录|系统提示|上下文|会话|会話|履歴|チャット|システムプロンプト|대화|채팅|시스템 프롬프트`},
	{creds, `密码|密碼|密钥|凭证|凭据|令牌|パスワード|秘密鍵|認証情報|鍵|비밀번호|암호|자격 증명|키를`},
	{read, `读取|打开|读出|讀取|查看|読み取|読み|読ん|開い|읽|열어`},
	{send, `复制|粘贴|发送|放入|填入|包含|上传|传给|附上|写入|传递|複製|發送|コピー|貼り付け|送信|送っ|入れ|含め|渡し|복사|붙여넣|전송|보내|넣|포함`},
	{silent, `悄悄|偷偷|暗中|秘密地|こっそり|密かに|몰래|조용히`},
	{whole, `全部|完整|整个|所有|すべて|全て|全体|전체|모두`},
	{where, `这里|此处|此参数|ここ|여기`},
	{also, `首先|然后|先|まず|次に|먼저|그런 다음`},
	{call, `调用|使用|呼び出|使っ|호출|사용`},
}
